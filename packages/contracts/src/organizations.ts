/**
 * The gate's statements to the post about an organization that has an account there: always complete, and signed with the gate's keys, so that
 * nobody else with access to the broker can decide who belongs to an account (docs/asyncapi.yaml).
 */
import { z } from 'zod';
import { deliveryLimit, type Topology } from './topology.ts';

export const organizationsExchange = 'gatepost.organizations';
export const organizationsQueue = 'gatepost.organizations';

export const organizationsTopology: Topology = {
  exchanges: [{ name: organizationsExchange, type: 'fanout', durable: true }],
  queues: [
    {
      name: organizationsQueue,
      durable: true,
      arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': deliveryLimit },
    },
  ],
  bindings: [{ exchange: organizationsExchange, queue: organizationsQueue, pattern: '' }],
};

/** The statement's `typ` and audience: it is not an access token, and must not be accepted as one. */
export const organizationStatement = { typ: 'gatepost-organization+jwt', audience: 'urn:gatepost:organizations' };

/** The maximum number of members of an organization's account. */
export const organizationMembersMax = 10_000;

/** The claim `organization`. A statement counts only if its version is higher than the previous one's. */
export const organizationSchema = z.strictObject({
  id: z.string().min(1).max(100),
  /** The account's login. */
  name: z.string().min(1).max(100),
  version: z.int().min(0),
  /** False: it is no longer an account, and has no members. */
  is_account: z.boolean(),
  members: z
    .array(z.strictObject({ subject: z.string().min(1).max(300), role: z.enum(['admin', 'member']) }))
    .max(organizationMembersMax),
});
export type OrganizationStatement = z.infer<typeof organizationSchema>;
