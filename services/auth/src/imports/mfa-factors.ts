/**
 * Second factors that come with imported users, in Auth0's schema:
 * https://auth0.com/docs/secure/multi-factor-authentication/authenticate-using-ropg-flow-with-mfa/import-user-mfa-authenticator-enrollments
 */
import { randomBytes } from 'node:crypto';
import { emailAddress } from '@gatepost/contracts/seed-shapes';
import type { Seal } from '@gatepost/runtime/seal';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { phoneNumber } from '../accounts/identifier.ts';
import { totpPurpose } from '../factors/store.ts';

export type ImportedFactor = { type: 'totp'; secret: string } | { type: 'phone' | 'email'; target: string };

const totp = z.strictObject({
  // A key of less than 80 bits is too weak.
  secret: z.string().regex(/^[A-Z2-7]{16,128}$/, 'A secret is Base32 without padding, of 16 characters and more'),
});
const phone = z.strictObject({ value: phoneNumber });
const email = z.strictObject({ value: emailAddress.toLowerCase() });

/** One factor: an object with one of the three names. */
export const mfaFactor = z
  .strictObject({ totp: totp.optional(), phone: phone.optional(), email: email.optional() })
  .transform((given, context): ImportedFactor => {
    const all: ImportedFactor[] = [];
    if (given.totp) all.push({ type: 'totp', secret: given.totp.secret });
    if (given.phone) all.push({ type: 'phone', target: given.phone.value });
    if (given.email) all.push({ type: 'email', target: given.email.value });
    if (all.length === 1) return all[0]!;
    context.addIssue({ code: 'custom', message: 'A factor is one of totp, phone and email' });
    return z.NEVER;
  });

/**
 * Gives people the factors that they lack: an app if they have none, a number or an address if they do not have that one yet. So the
 * same file may be imported twice.
 */
export async function addFactors(
  client: PoolClient,
  seal: Seal,
  people: { userId: string; factors: ImportedFactor[] }[],
): Promise<void> {
  // A person may occur twice in a file.
  const byPerson = [...Map.groupBy(people, ({ userId }) => userId)];
  const rows = byPerson.flatMap(([userId, entries]) =>
    distinct(entries.flatMap(({ factors }) => factors)).map((factor) => {
      const id = `${factor.type}|dev_${randomBytes(12).toString('base64url')}`;
      return factor.type === 'totp'
        ? { id, user_id: userId, type: factor.type, sealed: seal.seal(factor.secret, totpPurpose(id)).toString('hex') }
        : { id, user_id: userId, type: factor.type, target: factor.target };
    }),
  );
  if (rows.length === 0) return;
  await client.query(
    `INSERT INTO authentication_methods (id, user_id, type, sealed, target)
     SELECT id, user_id, type, decode(sealed, 'hex'), target
       FROM json_to_recordset($1) AS r (id text, user_id text, type text, sealed text, target text)
      WHERE NOT EXISTS (SELECT FROM authentication_methods known
                         WHERE known.user_id = r.user_id AND known.type = r.type AND known.target IS NOT DISTINCT FROM r.target)`,
    [JSON.stringify(rows)],
  );
}

/** At most one app: a code does not say which of two keys it belongs to. */
function distinct(factors: ImportedFactor[]): ImportedFactor[] {
  return [...new Map(factors.map((one) => [one.type === 'totp' ? 'totp' : `${one.type} ${one.target}`, one])).values()];
}
