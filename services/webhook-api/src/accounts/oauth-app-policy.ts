/**
 * OAuth app access restrictions (docs/reference/webhooks-api.md#oauth-applications): while the policy is on, an application that is
 * not approved has no access, and the hooks it made are disabled. Nothing is written to the hooks, so they come back as they were.
 */
import { z } from 'zod';
import { placeOperation } from '../http/operation.ts';

const policySchema = z.object({ enabled: z.boolean() }).meta({ id: 'OauthAppPolicy' });

export const getPolicy = placeOperation({
  id: 'get-oauth-app-policy',
  summary: 'Whether OAuth applications are restricted',
  answers: { 200: { description: 'The policy', schema: policySchema } },
  async run({ parts: { database }, place }) {
    const account = await database.account.findUniqueOrThrow({ where: { id: place.account.id } });
    return { status: 200, body: { enabled: account.oauthAppRestrictions } };
  },
});

export const setPolicy = placeOperation({
  id: 'set-oauth-app-policy',
  summary: 'Restrict OAuth applications, or do not',
  body: policySchema,
  answers: { 200: { description: 'The policy', schema: policySchema } },
  async run({ parts: { database }, place, body: { enabled } }) {
    await database.account.update({ where: { id: place.account.id }, data: { oauthAppRestrictions: enabled } });
    return { status: 200, body: { enabled } };
  },
});
