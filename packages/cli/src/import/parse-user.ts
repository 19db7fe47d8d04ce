/** Parses a line of a user import file. */
import type { Json } from '../session/api.ts';

const taken = [
  'email',
  'email_verified',
  'user_id',
  'username',
  'phone_number',
  'phone_verified',
  'name',
  'nickname',
  'given_name',
  'family_name',
  'picture',
  'blocked',
  'password_hash',
  'custom_password_hash',
  'password_set_date',
  'user_metadata',
  'app_metadata',
  'mfa_factors',
];

/** The line in the form that imports accept, or what is wrong with it. Fields added by exports are dropped. */
export function parseUser(text: string): Json | string {
  let given: Json;
  try {
    given = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return 'not an object';
  // The form in which Auth0's support sends hashes: https://auth0.com/docs/troubleshoot/customer-support/manage-subscriptions/export-data
  const { _id, passwordHash, password_set_date: setDate } = given;
  const user = {
    ...given,
    ...(typeof _id?.$oid === 'string' && { user_id: _id.$oid }),
    ...(typeof passwordHash === 'string' && { password_hash: passwordHash }),
    ...(typeof setDate?.$date === 'string' && { password_set_date: setDate.$date }),
  };
  return Object.fromEntries(
    taken.flatMap((name) => (user[name] === undefined || user[name] === null ? [] : [[name, user[name]]])),
  );
}
