/**
 * Auth0’s MFA API, second part (https://auth0.com/docs/api/authentication#multi-factor-authentication): challenges, listing a person's factors, and
 * setting up more, with an `mfa_token` or a person's access token for this API. After a password alone, the factors can only be listed and challenged;
 * adding or removing any beside existing ones takes a second factor first, and then the same token works for some minutes more.
 */
import { randomBytes } from 'node:crypto';
import express, { type Request, type Response, type Router } from 'express';
import type { Client, Provider } from 'oidc-provider';
import { parseIdentifier } from '../accounts/identifier.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { ApiError } from '../http/api-error.ts';
import { textField } from '../http/api-router.ts';
import { allowOrigin, makePreflight } from '../http/cors.ts';
import { addressOf } from '../http/head.ts';
import { setRoute } from '../http/route.ts';
import { checkJson } from '../http/well-formed.ts';
import { languagesOf } from '../mail/language.ts';
import type { MfaScope } from '../resources/mfa-api.ts';
import type { SettingsStore } from '../settings/store.ts';
import { type Access, type AccessParts, accessOf } from './access.ts';
import { isFresh } from './fresh.ts';
import { apiTypeOf, isAccessToken, mfaOwner, pendingOfToken } from './mfa-token.ts';
import type { FactorParts } from './parts.ts';
import type { Pending } from './pending.ts';
import { newRecoveryCodes, recoveryCodesId } from './recovery-code.ts';
import type { Method } from './store.ts';
import { newTotpSecret, totpUri } from './totp.ts';
import { channelOf, factorNameOf, isEnabled, type MethodType, mfaSettingsOf, type SecondFactor } from './types.ts';

type Parts = FactorParts & AccessParts & { provider: Provider; accounts: AccountStore; settings: SettingsStore };
type MfaCall = {
  parts: Parts;
  token: string;
  pending: Pending & { request: { clientId: string } };
  fields: Record<string, unknown>;
  request: Request;
  response: Response;
};
type Handler = (asked: MfaCall) => Promise<void>;

export function makeMfaRoutes(parts: Parts): Router {
  const router = express.Router();
  const preflight = makePreflight('GET, POST, DELETE', 'authorization,content-type,auth0-client,x-request-language');
  const bodies = [express.json({ limit: '56kb' }), express.urlencoded({ limit: '56kb', extended: false })];
  const at = (method: 'get' | 'post' | 'delete', path: string, handler: Handler, scope?: MfaScope) => {
    router.options(path, preflight);
    router[method](path, ...bodies, async (request: Request, response: Response) => {
      setRoute(response, path);
      response.set('cache-control', 'no-store');
      try {
        await handler(await open(parts, request, response, scope));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        response.status(error.status).json(error.body);
      }
    });
  };
  at('post', '/mfa/challenge', challenge);
  at('post', '/mfa/associate', associate, 'enroll');
  at('get', '/mfa/authenticators', list, 'read:authenticators');
  at('delete', '/mfa/authenticators/:id', remove, 'remove:authenticators');
  return router;
}

/** @param scope what an access token needs; without it access tokens are not accepted. @throws ApiError 401 without a valid token */
async function open(parts: Parts, request: Request, response: Response, scope?: MfaScope): Promise<MfaCall> {
  const body = (request.body ?? {}) as unknown;
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(400, 'invalid_request', 'the body must be a JSON object or a form');
  checkJson(body);
  const fields = body as Record<string, unknown>;
  const bearer = /^Bearer ([\w.-]{20,10000})$/i.exec(request.get('authorization') ?? '')?.[1];
  const token = bearer ?? textField(fields, 'mfa_token') ?? '';
  const clientId = textField(fields, 'client_id');
  const access = scope && bearer && isAccessToken(bearer) ? await accessOf(parts, bearer, clientId) : undefined;
  const pending = access ?? (await pendingOfToken(parts, token, clientId));
  const client = pending && (await parts.provider.Client.find(pending.request.clientId));
  allowOrigin(request, response, client as (Client & OwnMetadata) | undefined);
  if (!pending || !client)
    throw new ApiError(401, 'invalid_grant', 'mfa_token is missing, malformed, expired or another client’s');
  if (access && scope) checkAccess(access, scope);
  return { parts, token, pending, fields, request, response };
}

/** @throws ApiError 403 */
function checkAccess({ scopes, at }: Access, scope: MfaScope): void {
  if (!scopes.has(scope)) throw new ApiError(403, 'insufficient_scope', `the access token lacks the scope ${scope}`);
  if (scope !== 'read:authenticators' && !isFresh(at))
    throw new ApiError(403, 'access_denied', 'the login is too old to change factors: log in again (max_age=600)');
}

/** Says which kind of code to type, and sends it if it is one that is sent. */
async function challenge(asked: MfaCall): Promise<void> {
  const { parts, pending, fields, response } = asked;
  if (pending.due === 'proven') throw new ApiError(401, 'invalid_grant', 'mfa_token was used already');
  if (pending.due !== 'challenge')
    throw new ApiError(400, 'association_required', 'the person has no second factor yet: set one up at mfa/associate');
  const wanted = (textField(fields, 'challenge_type') ?? 'otp oob').split(' ');
  const id = textField(fields, 'authenticator_id');
  const methods = (await parts.factors.listOf(pending.account, pending.types)).filter(
    (method) => (id === undefined || method.id === id || apiIdOf(method) === id) && wanted.includes(kindOf(method)),
  );
  const method = methods.find(({ type }) => type === 'totp') ?? methods.at(-1);
  if (!method)
    throw new ApiError(
      400,
      'unsupported_challenge_type',
      'the person has no such authenticator that can be challenged here',
    );
  if (method.type === 'totp') {
    response.json({ challenge_type: 'otp' });
    return;
  }
  const to = { type: method.type as 'email' | 'phone', target: method.target! };
  const oobCode = await sendCode(asked, to);
  await keep(asked, { sentTo: to, oobCode });
  response.json({ challenge_type: 'oob', oob_code: oobCode, binding_method: 'prompt' });
}

/** Begins to set up a factor; its first code, at the token endpoint, confirms it. */
async function associate(asked: MfaCall): Promise<void> {
  const { parts, pending, fields, response } = asked;
  if (pending.due === 'challenge')
    throw new ApiError(403, 'access_denied', 'User is already enrolled: prove the second factor first');
  const settings = await parts.settings.load();
  const mfa = mfaSettingsOf(settings);
  const [kind] = [fields.authenticator_types].flat();
  const type = typeToEnrol(kind, [fields.oob_channels].flat()[0]);
  if (type === undefined || !isEnabled(mfa, type))
    throw new ApiError(400, 'invalid_request', 'authenticator_types: none of these can be set up here');
  const account = await parts.accounts.find(pending.account.userId);
  if (!account) throw new ApiError(401, 'invalid_grant', 'the account no longer exists');
  // If there were none before: the codes come with the first factor, as at Auth0.
  const isFirst = pending.due === 'enrolment' || (await parts.factors.recoveryCodesLeft(account.userId)) === 0;
  const recoveryCodes = mfa.factors['recovery-code'] && isFirst ? newRecoveryCodes() : undefined;
  const withCodes = { ...(recoveryCodes && { recoveryCodes }) };
  const answerWith = (body: object) =>
    void response.json({ ...body, ...(recoveryCodes && { recovery_codes: recoveryCodes }) });
  if (type === 'totp') {
    const secret = newTotpSecret();
    const label = account.email ?? account.username ?? account.phoneNumber ?? account.userId;
    const issuer = settings.friendlyName ?? new URL(parts.provider.issuer).host;
    await keep(asked, { enrolling: { type, secret, ...withCodes } });
    return answerWith({ authenticator_type: 'otp', secret, barcode_uri: totpUri({ secret, issuer, label }) });
  }
  const field = type === 'phone' ? 'phone_number' : 'email';
  const identifier = parseIdentifier(textField(fields, field) ?? (type === 'email' ? (account.email ?? '') : ''));
  if (identifier?.kind !== type) throw new ApiError(400, 'invalid_request', `missing or malformed ${field}`);
  const to = { type, target: identifier.value };
  const oobCode = await sendCode(asked, { ...to, isTyped: true });
  await keep(asked, { enrolling: { ...to, ...withCodes }, sentTo: to, oobCode });
  return answerWith({
    authenticator_type: 'oob',
    oob_channel: channelOf(type),
    oob_code: oobCode,
    binding_method: 'prompt',
  });
}

/** Remembers what was begun with the token. One that was spent meanwhile stays spent. @throws ApiError 401 */
async function keep({ parts, token, pending }: MfaCall, begun: Partial<Pending>): Promise<void> {
  if (!(await parts.pending.replace(mfaOwner(token), pending, { ...pending, ...begun })))
    throw new ApiError(401, 'invalid_grant', 'the token was used by another request at the same time');
}

function typeToEnrol(kind: unknown, channel: unknown): 'totp' | 'phone' | 'email' | undefined {
  if (kind === 'otp') return 'totp';
  if (kind === 'email' || (kind === 'oob' && channel === 'email')) return 'email';
  return kind === 'oob' && channel === 'sms' ? 'phone' : undefined;
}

async function list({ parts, pending, response }: MfaCall): Promise<void> {
  const { userId } = pending.account;
  const [methods, codes] = await Promise.all([parts.factors.list(userId), parts.factors.recoveryCodesLeft(userId)]);
  response.json([
    ...(codes > 0
      ? [{ id: recoveryCodesId, authenticator_type: 'recovery-code', type: 'recovery-code', active: true }]
      : []),
    ...methods.map((method) => present(method, pending.due === 'proven')),
  ]);
}

async function remove({ parts, pending, request, response }: MfaCall): Promise<void> {
  if (pending.due !== 'proven')
    throw new ApiError(
      403,
      'access_denied',
      'prove the second factor first: a password alone is not enough to remove one',
    );
  const { userId } = pending.account;
  const id = String(request.params.id);
  const method = (await parts.factors.list(userId)).find((one) => one.id === id || apiIdOf(one) === id);
  if (!method || !(await parts.factors.remove(userId, method.id)))
    throw new ApiError(404, 'not_found', 'there is no such authenticator');
  parts.factorEvents.removed({ userId }, method.type);
  const account = await parts.accounts.find(userId);
  const from = { ip: addressOf(request) };
  if (account) parts.notifyOfChange({ name: 'factor_removed', factor: method.type as MethodType }, account, from);
  response.status(204).end();
}

/** `otp` or `oob`, as Auth0 calls the two kinds. */
const kindOf = ({ type }: Method) =>
  type === 'totp' ? 'otp' : type === 'email' || type === 'phone' ? 'oob' : 'webauthn';

/** Auth0's ids are prefixed with the kind: `otp|dev_…`, `sms|dev_…`. */
const apiIdOf = ({ id, type }: Method) => `${factorNameOf(type as MethodType)}|${id.split('|')[1]}`;

function present(method: Method, isWhole: boolean): object {
  const kind = kindOf(method);
  const channel = channelOf(method.type as 'email' | 'phone');
  const target = method.target ?? undefined;
  return {
    id: apiIdOf(method),
    authenticator_type: kind === 'webauthn' ? method.type : kind,
    type: apiTypeOf[method.type as SecondFactor] ?? method.type,
    active: true,
    ...(kind === 'oob' && { oob_channel: channel, oob_channels: [channel] }),
    ...(target !== undefined && { name: isWhole ? target : masked(target) }),
  };
}

/** As Auth0 shows it to somebody who has not proven it. */
function masked(target: string): string {
  const [name = '', domain] = target.split('@');
  return domain === undefined ? `XXXXXX${target.slice(-4)}` : `${name.slice(0, 1)}***@${domain}`;
}

async function sendCode(
  { parts, token, pending, request }: MfaCall,
  { isTyped = false, ...to }: { type: 'email' | 'phone'; target: string; isTyped?: boolean },
): Promise<string> {
  const account = await parts.accounts.find(pending.account.userId);
  if (!account) throw new ApiError(401, 'invalid_grant', 'the account no longer exists');
  const { clientId } = pending.request;
  const ip = addressOf(request);
  const languages = languagesOf(request);
  const sent = await parts.sendFactorCode({ account, to, isTyped, binding: mfaOwner(token), ip, clientId, languages });
  if (sent === 'too_many')
    throw new ApiError(429, 'too_many_requests', 'too many codes were asked for; try again later');
  parts.factorEvents.codeSent({ userId: account.userId, clientId, ip }, to.type);
  return randomBytes(32).toString('base64url');
}
