/** Auth0's database connection API: sign-up, and the mail for a new password. */
import type { Router } from 'express';
import type { Provider } from 'oidc-provider';
import { isEmail, parseUsername } from '../accounts/identifier.ts';
import type { SendPasswordMail } from '../accounts/password-mail.ts';
import { passwordMinLength, type SignUp } from '../accounts/signup.ts';
import type { ConnectionModel } from '../generated/models.ts';
import { ApiError } from '../http/api-error.ts';
import { type ApiHandler, makeApiRouter, textField } from '../http/api-router.ts';
import { addressOf } from '../http/head.ts';
import { languagesOf } from '../mail/language.ts';
import type { Bots } from '../protection/bots.ts';
import { checkPerson } from '../protection/refused-challenge.ts';
import type { TakeSignup } from '../protection/signups.ts';
import type { ConnectionStore } from '../settings/connections.ts';

export type DatabaseConnectionParts = {
  provider: Provider;
  connections: ConnectionStore;
  signUp: SignUp;
  sendPasswordMail: SendPasswordMail;
  takeSignup: TakeSignup;
  bots: Bots;
};

export function makeDatabaseConnectionRoutes(parts: DatabaseConnectionParts): Router {
  return makeApiRouter(parts.provider, {
    '/dbconnections/signup': signup(parts),
    '/dbconnections/change_password': changePassword(parts),
  });
}

function signup(parts: DatabaseConnectionParts): ApiHandler {
  return async ({ fields, client, request, response }) => {
    const connection = await databaseOf(parts, fields, client.clientId);
    const ip = addressOf(request);
    const { clientId } = client;
    await checkPerson(parts.bots, { stage: 'signup', ip, clientId }, textField(fields, 'captcha'));
    if (!(await parts.takeSignup({ ip, clientId: client.clientId })))
      throw new ApiError(429, 'too_many_requests', 'too many sign-ups from this address; try again later');
    const result = await parts.signUp({
      connection: connection.name,
      email: fields.email,
      password: fields.password,
      request,
      ip,
      clientId: client.clientId,
      languages: languagesOf(request),
      profile: profileOf(fields, connection),
    });
    if (result.kind === 'refused') throw refusal(result.problems[0]!, result.said);
    const { account } = result;
    response.json({
      _id: account.userId.split('|')[1],
      email: account.email,
      email_verified: account.emailVerified,
      ...(account.username ? { username: account.username } : {}),
      ...(account.name ? { name: account.name } : {}),
      ...(account.givenName ? { given_name: account.givenName } : {}),
      ...(account.familyName ? { family_name: account.familyName } : {}),
      ...(account.nickname ? { nickname: account.nickname } : {}),
      ...(account.picture ? { picture: account.picture } : {}),
      ...(fields.user_metadata ? { user_metadata: account.userMetadata } : {}),
    });
  };
}

/** Answers everybody with the same sentence. */
function changePassword(parts: DatabaseConnectionParts): ApiHandler {
  return async ({ fields, client, request, response }) => {
    const connection = await databaseOf(parts, fields, client.clientId);
    const email = textField(fields, 'email')?.trim().toLowerCase() ?? '';
    if (!isEmail(email)) throw new ApiError(400, 'invalid_request', 'missing or malformed email');
    const { clientId } = client;
    const asking = { stage: 'password-reset', ip: addressOf(request), clientId } as const;
    await checkPerson(parts.bots, asking, textField(fields, 'captcha'));
    const asked = {
      connection: connection.name,
      email,
      clientId: client.clientId,
      ip: addressOf(request),
      languages: languagesOf(request),
    };
    if ((await parts.sendPasswordMail(asked)) === 'too_many')
      throw new ApiError(429, 'too_many_requests', 'too many mails were asked for; try again later');
    response.type('text/plain').send("We've just sent you an email to reset your password.");
  };
}

async function databaseOf(
  { connections }: DatabaseConnectionParts,
  fields: Record<string, unknown>,
  clientId: string,
): Promise<ConnectionModel> {
  const name = textField(fields, 'connection');
  const connection = await (name ? connections.find(name, clientId) : connections.database(clientId));
  if (connection?.strategy !== 'auth0') throw new ApiError(400, 'invalid_request', 'missing or unknown connection');
  return connection;
}

function profileOf(fields: Record<string, unknown>, connection: ConnectionModel) {
  const given = textField(fields, 'username');
  const parsed: { username?: string } | { problem: string } =
    given === undefined ? {} : parseUsername(given, connection);
  if ('problem' in parsed) throw signupError(400, 'invalid_username', 'BadRequestError', parsed.problem);
  const { user_metadata: userMetadata } = fields;
  const profile = {
    ...parsed,
    name: textField(fields, 'name'),
    givenName: textField(fields, 'given_name'),
    familyName: textField(fields, 'family_name'),
    nickname: textField(fields, 'nickname'),
    picture: textField(fields, 'picture'),
    ...(isPlainObject(userMetadata) ? { userMetadata } : {}),
  };
  return Object.fromEntries(Object.entries(profile).filter(([, value]) => value !== undefined));
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Auth0's error names; auth0-js reads `code`, `description`, `name` and `policy`. */
function refusal(problem: string, said?: string): ApiError {
  switch (problem) {
    case 'email_invalid':
      return signupError(400, 'invalid_request', 'Error', 'missing or malformed email');
    case 'password_too_short':
      return signupError(400, 'invalid_password', 'PasswordStrengthError', 'Password is too weak', {
        description: { rules: [{ ...tooShort, verified: false }], verified: false },
        policy: `* ${tooShort.message.replace('%d', String(passwordMinLength))}`,
      });
    case 'password_too_common':
      return signupError(400, 'invalid_password', 'PasswordDictionaryError', 'Password is too common');
    case 'user_exists':
      return signupError(400, 'user_exists', 'BadRequestError', 'The user already exists.');
    case 'signup_denied':
      return signupError(400, 'extensibility_error', 'Error', said ?? '', { friendly_message: said });
    case 'password_leaked':
      return signupError(400, 'password_leaked', 'PasswordLeakedError', 'Password is known from a data breach');
    case 'busy':
      return new ApiError(503, 'temporarily_unavailable', 'try again in a moment');
    default:
      // Reveals neither that the address is taken nor that sign-up is closed.
      return signupError(400, 'invalid_signup', 'BadRequestError', 'Invalid sign up');
  }
}

/** As Auth0 describes its rule of a password's length; SDKs fill `format` into `message`. */
const tooShort = { code: 'lengthAtLeast', message: 'At least %d characters in length', format: [passwordMinLength] };

function signupError(status: number, code: string, name: string, description: string, more = {}): ApiError {
  return new ApiError(status, code, description, { name, code, description, statusCode: status, ...more });
}
