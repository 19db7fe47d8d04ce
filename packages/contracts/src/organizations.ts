/**
 * What the gate tells the post of an organization that is an account there: all of it each time, signed with the gate's keys, so that
 * nobody else who reaches the broker can say who belongs to an account (docs/asyncapi.yaml).
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

/** The `typ` and the audience of the statement, which is no access token and is taken for none. */
export const organizationStatement = { typ: 'gatepost-organization+jwt', audience: 'urn:gatepost:organizations' };

/** How many members an account of an organization can have. */
export const organizationMembersMax = 10_000;

/** The claim `organization`. A statement counts if its version is higher than that of the one before. */
export const organizationSchema = z.strictObject({
  id: z.string().min(1).max(100),
  /** The account's login. */
  name: z.string().min(1).max(100),
  version: z.int().min(0),
  /** False: it is no account any more, and nobody belongs to it. */
  is_account: z.boolean(),
  members: z
    .array(z.strictObject({ subject: z.string().min(1).max(300), role: z.enum(['admin', 'member']) }))
    .max(organizationMembersMax),
});
export type OrganizationStatement = z.infer<typeof organizationSchema>;
