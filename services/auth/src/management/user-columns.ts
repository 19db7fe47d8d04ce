/** Converts a request's body to an account's columns, and refuses what is not allowed. */
import { parseUsername } from '../accounts/identifier.ts';
import { hashPassword, TooBusy } from '../accounts/password.ts';
import { namesOf } from '../accounts/present-user.ts';
import { passwordMinLength, passwordProblem } from '../accounts/signup.ts';
import type { Prisma } from '../database.ts';
import type { AccountModel, ConnectionModel } from '../generated/models.ts';
import { isUpstream } from '../upstream/strategies.ts';
import { badBody, ManagementProblem, tryAgain } from './problem.ts';
import type { CreateBody, UpdateBody } from './user-body.ts';

/** The connection determines which identifiers its accounts need. */
export function checkIdentity(connection: ConnectionModel, body: CreateBody): void {
  if (connection.strategy === 'sms' && body.phone_number === undefined)
    throw badBody('Missing required property: phone_number');
  if (connection.strategy === 'email' && body.email === undefined) throw badBody('Missing required property: email');
  if (isUpstream(connection.strategy))
    throw badBody('users of this connection are created when they sign in there for the first time');
  checkMayHave(connection, body);
  if (connection.strategy !== 'auth0') return;
  if (body.email === undefined && body.username === undefined) throw badBody('Missing required property: email');
  if (body.password === undefined) throw badBody('Missing required property: password');
}

/** Only a database has passwords and usernames; a username that is there already may be sent back. @throws ManagementProblem 400 */
export function checkMayHave(
  connection: ConnectionModel | undefined,
  { password, username }: Pick<UpdateBody, 'password' | 'username'>,
  account?: AccountModel,
): void {
  if (connection?.strategy === 'auth0') return;
  if (password !== undefined)
    throw new ManagementProblem(400, 'operation_not_supported', "The user's connection has no passwords.");
  if (username != null && username !== account?.username)
    throw new ManagementProblem(400, 'operation_not_supported', "The user's connection has no usernames.");
}

/** The identifier that an account needs in its connection cannot be removed. */
export function checkKeepsIdentifier(
  account: AccountModel,
  body: UpdateBody,
  connection: ConnectionModel | undefined,
): void {
  const { email = account.email, username = account.username, phone_number = account.phoneNumber } = body;
  if (connection && isUpstream(connection.strategy)) return;
  if (connection?.strategy === 'sms' ? phone_number === null : email === null && username === null)
    throw badBody(`Missing required property: ${connection?.strategy === 'sms' ? 'phone_number' : 'email'}`);
}

/** Drops names that we derived from other fields when they come back, so that they keep following those. */
export function withoutDefaults<Body extends UpdateBody>(account: AccountModel, body: Body): Body {
  const shown = namesOf(account);
  const isDefault = (field: 'name' | 'nickname') => account[field] === null && body[field] === shown[field];
  return {
    ...body,
    ...(isDefault('name') && { name: undefined }),
    ...(isDefault('nickname') && { nickname: undefined }),
  };
}

/** With its prefix, as in our answers, or without, as at Auth0. */
export function prefixedUserId(given: string, connection: ConnectionModel): string {
  const prefix = `${prefixOf(connection)}|`;
  const id = given.startsWith(prefix) ? given.slice(prefix.length) : given;
  if (id.includes('|')) throw badBody(`a user_id of this connection must begin with ${prefix}`);
  return prefix + id;
}

function prefixOf({ strategy, name }: ConnectionModel): string {
  return strategy === 'auth0' ? 'auth0' : name;
}

/** The profile columns that the body sets. */
export function columns(body: Partial<UpdateBody>) {
  const given = {
    email: body.email === null ? null : body.email?.toLowerCase(),
    emailVerified: body.email_verified,
    phoneNumber: body.phone_number,
    phoneVerified: body.phone_verified,
    blocked: body.blocked,
    name: body.name,
    nickname: body.nickname,
    givenName: body.given_name,
    familyName: body.family_name,
    picture: body.picture,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Key in keyof typeof given]?: Exclude<(typeof given)[Key], undefined>;
  };
}

export function usernameOf(
  given: string | null | undefined,
  connection: ConnectionModel | undefined,
): { username?: string | null } {
  if (given === undefined || given === null) return given === null ? { username: null } : {};
  const parsed = parseUsername(given, connection ?? { options: {} });
  if ('problem' in parsed) throw badBody(parsed.problem);
  return parsed;
}

/** The update for a change of these fields; the password is hashed before (`hashOf`). */
export function updateOf(account: AccountModel, body: UpdateBody): Prisma.AccountUpdateInput {
  const email = body.email === undefined ? account.email : (body.email?.toLowerCase() ?? null);
  // A new address or number is unverified until proven or declared verified.
  const unproven = email !== account.email && body.email_verified === undefined;
  const phone = body.phone_number === undefined ? account.phoneNumber : body.phone_number;
  const phoneUnproven = phone === null || (phone !== account.phoneNumber && body.phone_verified === undefined);
  return {
    ...columns(body),
    ...(unproven && { emailVerified: false }),
    ...(phoneUnproven && { phoneVerified: false }),
    // Auth0 merges metadata at its first level (accounts/store.ts does); an empty object clears it.
    ...(isEmpty(body.user_metadata) && { userMetadata: {} }),
    ...(isEmpty(body.app_metadata) && { appMetadata: {} }),
  };
}

const isEmpty = (change: object | undefined) => change !== undefined && Object.keys(change).length === 0;

export async function hashOf(password: string, email: string | undefined): Promise<string> {
  const problem = passwordProblem(password, email ?? '');
  if (problem === 'password_too_short')
    throw weakPassword(`Password is too short: it needs at least ${passwordMinLength} characters`);
  if (problem === 'password_too_common') throw weakPassword('Password is too common');
  try {
    return await hashPassword(password);
  } catch (error) {
    if (error instanceof TooBusy) throw tryAgain();
    throw error;
  }
}

function weakPassword(message: string): ManagementProblem {
  return new ManagementProblem(400, 'invalid_password', `PasswordStrengthError: ${message}`);
}
