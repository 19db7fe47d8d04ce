/**
 * A user of an import, in the form of Auth0's schema:
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-import-database-schema-and-examples
 */
import { emailAddress } from '@gatepost/contracts/seed-shapes';
import { z } from 'zod';
import { parseUsername, phoneNumber } from '../accounts/identifier.ts';
import { customHash, storedHash, storedPhc, UnusableHash } from '../accounts/imported-password.ts';
import type { ConnectionModel } from '../generated/models.ts';
import { httpUri } from '../http/http-uri.ts';
import { findFlaw } from '../http/parse-shape.ts';
import { merge } from '../merge-metadata.ts';
import { type ImportedFactor, mfaFactor } from './mfa-factors.ts';

const text = (max: number) => z.string().trim().min(1).max(max);
const metadata = z.record(z.string().max(255), z.unknown());
const shape = z
  .strictObject({
    email: emailAddress,
    email_verified: z.boolean(),
    user_id: z.string().regex(/^(?:auth0\|)?[\w.@+-]{1,128}$/, 'Not a user id of a database connection'),
    username: z.string().max(256),
    phone_number: phoneNumber,
    phone_verified: z.boolean(),
    name: text(300),
    nickname: text(300),
    given_name: text(150),
    family_name: text(150),
    picture: httpUri,
    blocked: z.boolean(),
    password_hash: z.string().max(1_024),
    custom_password_hash: customHash,
    // Within PostgreSQL's limits: it supports neither all offsets nor a year 0.
    password_set_date: z.iso
      .datetime({ offset: true })
      .transform((text) => new Date(text).toISOString())
      .refine((text) => /^(?!0000)\d{4}-/.test(text), 'Not a moment of the years 1 to 9999'),
    user_metadata: metadata,
    app_metadata: metadata,
    mfa_factors: z.array(mfaFactor).min(1).max(10),
  })
  .partial()
  .required({ email: true });

/** The columns of an account; null means not given. */
export type ImportedUser = {
  user_id: string | null;
  email: string;
  email_verified: boolean | null;
  username: string | null;
  phone_number: string | null;
  phone_verified: boolean | null;
  name: string | null;
  nickname: string | null;
  given_name: string | null;
  family_name: string | null;
  picture: string | null;
  blocked: boolean | null;
  password_hash: string | null;
  last_password_reset: string | null;
  user_metadata: object | null;
  app_metadata: object | null;
  mfa_factors: ImportedFactor[];
};

/** In Auth0's form; `path` names the property. */
export type Fault = { code: string; message: string; path: string };

export function readUser(
  given: unknown,
  connection: Pick<ConnectionModel, 'options'>,
): { user: ImportedUser } | { faults: Fault[] } {
  const flaw = findFlaw(given);
  if (flaw !== undefined) return { faults: [{ code: 'INVALID_FORMAT', message: flaw, path: '' }] };
  const result = shape.safeParse(withoutNulls(given));
  if (!result.success) return { faults: result.error.issues.slice(0, 10).map(faultOf) };
  const { user_id, email, username, password_hash, custom_password_hash, password_set_date, ...rest } = result.data;
  const faults: Fault[] = [];
  const named = username === undefined ? { username: null } : parseUsername(username, connection);
  if ('problem' in named) faults.push({ code: 'INVALID_FORMAT', message: named.problem, path: 'username' });
  if (password_hash !== undefined && custom_password_hash)
    faults.push({ code: 'INVALID_FORMAT', message: 'either this or password_hash', path: 'custom_password_hash' });
  const kept = storedHashOf(password_hash, custom_password_hash, faults);
  if (faults.length > 0 || 'problem' in named) return { faults };
  const metadataOf = (value: Record<string, unknown> | undefined) => (value ? merge({}, value) : null);
  return {
    user: {
      user_id: user_id === undefined ? null : `auth0|${user_id.replace(/^auth0\|/, '')}`,
      email: email.toLowerCase(),
      username: named.username,
      email_verified: rest.email_verified ?? null,
      phone_number: rest.phone_number ?? null,
      phone_verified: rest.phone_verified ?? null,
      name: rest.name ?? null,
      nickname: rest.nickname ?? null,
      given_name: rest.given_name ?? null,
      family_name: rest.family_name ?? null,
      picture: rest.picture ?? null,
      blocked: rest.blocked ?? null,
      password_hash: kept,
      last_password_reset: password_set_date ?? null,
      user_metadata: metadataOf(rest.user_metadata),
      app_metadata: metadataOf(rest.app_metadata),
      mfa_factors: rest.mfa_factors ?? [],
    },
  };
}

function storedHashOf(
  hash: string | undefined,
  custom: z.infer<typeof customHash> | undefined,
  faults: Fault[],
): string | null {
  try {
    if (custom) return storedHash(custom);
    return hash === undefined ? null : storedPhc(hash);
  } catch (error) {
    if (!(error instanceof UnusableHash)) throw error;
    const path = custom ? 'custom_password_hash' : 'password_hash';
    faults.push({ code: 'INVALID_FORMAT', message: error.message, path });
    return null;
  }
}

/** Other systems' exports have null for missing values. */
const withoutNulls = (given: unknown): unknown =>
  typeof given === 'object' && given !== null && !Array.isArray(given)
    ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
    : given;

const harmless = shape.omit({ password_hash: true, custom_password_hash: true, mfa_factors: true }).shape;

/** What is kept of a user who was not imported. A member that the schema does not know may be a misnamed password or hash. */
export const maskSecrets = (given: unknown): object =>
  typeof given === 'object' && given !== null
    ? Object.fromEntries(
        Object.entries(given).map(([name, value]) => [name, Object.hasOwn(harmless, name) ? value : '***']),
      )
    : {};

/** Leaves out the value: it may be a hash. */
function faultOf(issue: z.core.$ZodIssue): Fault {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys')
    return {
      code: 'OBJECT_ADDITIONAL_PROPERTIES',
      message: `Additional properties not allowed: ${issue.keys.join(', ')}`,
      path,
    };
  if (issue.code === 'invalid_type' && path !== '' && issue.input === undefined)
    return { code: 'OBJECT_MISSING_REQUIRED_PROPERTY', message: `Missing required property: ${path}`, path };
  return { code: 'INVALID_FORMAT', message: issue.message, path };
}
