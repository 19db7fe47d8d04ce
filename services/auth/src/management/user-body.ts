/** The fields of a person that a request may set. */
import { emailAddress } from '@gatepost/contracts/seed-shapes';
import { z } from 'zod';
import { phoneNumber } from '../accounts/identifier.ts';
import { passwordMaxBytes } from '../accounts/password.ts';
import { httpUri } from '../http/http-uri.ts';
import { shortText } from './shapes.ts';

const metadata = z.record(z.string().max(255), z.unknown());
const profile = {
  email: emailAddress,
  email_verified: z.boolean(),
  username: z.string().max(256),
  phone_number: phoneNumber,
  phone_verified: z.boolean(),
  password: z.string().min(1).max(passwordMaxBytes),
  blocked: z.boolean(),
  name: text(300),
  nickname: text(300),
  given_name: text(150),
  family_name: text(150),
  picture: httpUri,
  user_metadata: metadata,
  app_metadata: metadata,
  /** Sends a mail that asks whether the address is theirs. */
  verify_email: z.boolean(),
  // Auth0's clients send these along.
  verify_phone_number: z.boolean(),
  connection: shortText,
  client_id: shortText,
};
/** Read-only fields of an answer, which may come back with the rest. */
const readOnly = {
  identities: z.unknown(),
  created_at: z.unknown(),
  updated_at: z.unknown(),
  last_login: z.unknown(),
  last_ip: z.unknown(),
  logins_count: z.unknown(),
  last_password_reset: z.unknown(),
  multifactor: z.unknown(),
};
export const createBody = z.preprocess(
  ignoringNulls(),
  z
    .strictObject({
      ...profile,
      ...readOnly,
      user_id: z.string().regex(/^(?:[\w.-]+\|)?[\w.@+-]{1,128}$/, 'Not a user id'),
    })
    .partial()
    .required({ connection: true }),
);
/** Fields that null removes. */
const removable = [
  'email',
  'username',
  'phone_number',
  'name',
  'nickname',
  'given_name',
  'family_name',
  'picture',
] as const;
export const updateBody = z.preprocess(
  ignoringNulls(removable),
  z
    .strictObject({
      ...profile,
      ...readOnly,
      user_id: z.unknown(),
      email: profile.email.nullable(),
      username: profile.username.nullable(),
      phone_number: profile.phone_number.nullable(),
      name: profile.name.nullable(),
      nickname: profile.nickname.nullable(),
      given_name: profile.given_name.nullable(),
      family_name: profile.family_name.nullable(),
      picture: profile.picture.nullable(),
    })
    .partial(),
);

function text(max: number) {
  return z.string().trim().min(1).max(max);
}

/** Drops null, which some of Auth0's clients send for fields they do not set. */
function ignoringNulls(kept: readonly string[] = []) {
  const names = new Set(Object.keys({ ...profile, ...readOnly, user_id: true }).filter((name) => !kept.includes(name)));
  return (body: unknown) =>
    typeof body !== 'object' || body === null || Array.isArray(body)
      ? body
      : Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== null || !names.has(name)));
}

export type CreateBody = z.infer<typeof createBody>;
export type UpdateBody = z.infer<typeof updateBody>;
