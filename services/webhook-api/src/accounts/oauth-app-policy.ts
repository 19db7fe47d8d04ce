/**
 * OAuth app access restrictions (docs/reference/webhooks-api.md#oauth-applications): while the policy is on, an application that is not
 * approved has no access, and the hooks it made are disabled. The hooks' rows do not change, so they come back as they were.
 */
import { z } from 'zod';
import { notFound } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';

const policySchema = z.object({ enabled: z.boolean() }).meta({ id: 'OauthAppPolicy' });

export const getPolicy = placeOperation({
  id: 'get-oauth-app-policy',
  summary: 'Get whether OAuth applications are restricted',
  answers: { 200: { description: 'The policy', schema: policySchema } },
  async run({ parts: { pool }, place }) {
    const { rows } = await pool.query<{ enabled: boolean }>(
      'SELECT oauth_app_restrictions AS enabled FROM accounts WHERE id = $1',
      [place.account.id],
    );
    if (!rows[0]) throw notFound(); // deleted meanwhile
    return { status: 200, body: { enabled: rows[0].enabled } };
  },
});

export const setPolicy = placeOperation({
  id: 'set-oauth-app-policy',
  summary: 'Restrict OAuth applications, or lift the restriction',
  body: policySchema,
  answers: { 200: { description: 'The policy', schema: policySchema } },
  async run({ parts: { pool }, place, body: { enabled } }) {
    const { rowCount } = await pool.query('UPDATE accounts SET oauth_app_restrictions = $2 WHERE id = $1', [
      place.account.id,
      enabled,
    ]);
    if (rowCount === 0) throw notFound(); // deleted meanwhile
    return { status: 200, body: { enabled } };
  },
});
