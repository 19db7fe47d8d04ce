/**
 * The outcome of a trigger's actions: what they asked for through `api` (worker/api.ts), as far as it is allowed. Auth0’s rules for claims:
 * https://auth0.com/docs/secure/tokens/json-web-tokens/create-custom-claims.
 */
import { merge } from '../merge-metadata.ts';
import type { Command } from './worker/messages.ts';

type Values = Record<string, unknown>;

export type Outcome = {
  accessToken: Values;
  idToken: Values;
  /** Scopes of the access token: true adds, false removes. */
  scopes: Record<string, boolean>;
  userMetadata: Values;
  appMetadata: Values;
  transaction: Values;
  /** `whole`: the reason for the log, uncut, since what is left of a cut secret cannot be masked. */
  denied?: { code?: string; reason: string; whole: string; userMessage?: string };
  secondFactor?: { allowRememberBrowser: boolean };
  /** Ends the session or the refresh token, and the request with it. */
  revoked?: { what: 'session' | 'refreshToken'; preserveRefreshTokens: boolean };
  /** The latest time at which the session ends, in epoch seconds. */
  sessionEndsAt?: number;
  /** Where to send the person before anything else happens. */
  redirect?: { url: string };
};

export const noOutcome = (): Outcome => ({
  accessToken: {},
  idToken: {},
  scopes: {},
  userMetadata: {},
  appMetadata: {},
  transaction: {},
});

/** Claims that belong to the protocol, to Auth0 or to us: setting one has no effect, as at Auth0. */
// biome-ignore format: a list
const restricted = new Set([
  'acr', 'act', 'active', 'amr', 'at_hash', 'ath', 'attest', 'aud', 'auth_time', 'authorization_details', 'azp', 'c_hash', 'client_id', 'cnf',
  'cty', 'dest', 'entitlements', 'events', 'exp', 'groups', 'gty', 'htm', 'htu', 'iat', 'internalService', 'iss', 'jcard', 'jku', 'jti', 'jwe',
  'jwk', 'kid', 'may_act', 'mky', 'nbf', 'nonce', 'object_id', 'org_id', 'org_name', 'orig', 'origid', 'permissions', 'roles', 'rph', 's_hash',
  'sid', 'sip_callid', 'sip_cseq_num', 'sip_date', 'sip_from_tag', 'sip_via_branch', 'sub', 'sub_jwk', 'toe', 'txn', 'typ', 'uuid', 'vot', 'vtm',
  'x5t#S256',
  // Ours (../claims.ts).
  'scope', 'gid', 'rbac', 'first_party',
  // Properties of JavaScript’s objects.
  '__proto__', 'constructor', 'prototype',
]);
/** Auth0 reserves its own namespaces. */
const foreignNamespace = /^(?:https?:\/\/(?:[^/]+\.)?(?:auth0\.com|webtask\.io|webtask\.run)(?:[/:]|$)|urn:auth0)/i;
const nameMax = 500;

/** Auth0’s limit, per token. */
const claimsMaxBytes = 100 * 1024;
/** Per metadata object. */
const metadataMaxBytes = 16 * 1024;

export class OutcomeTooLarge extends Error {
  override name = 'OutcomeTooLarge';
}

/** Adds the commands of one action. @throws OutcomeTooLarge */
export function addCommands(outcome: Outcome, commands: Command[]): Outcome {
  const after = structuredClone(outcome);
  for (const { name, args } of commands) apply(after, name, args);
  checkSize('the claims of an access token', after.accessToken, claimsMaxBytes);
  checkSize('the claims of an ID token', after.idToken, claimsMaxBytes);
  for (const metadata of [after.userMetadata, after.appMetadata, after.transaction])
    checkSize('metadata', metadata, metadataMaxBytes);
  return after;
}

function apply(outcome: Outcome, name: string, [first, second]: unknown[]): void {
  switch (name) {
    case 'accessToken.setCustomClaim':
      setClaim(outcome.accessToken, first, second);
      return;
    case 'idToken.setCustomClaim':
      setClaim(outcome.idToken, first, second);
      return;
    case 'accessToken.addScope':
    case 'accessToken.removeScope':
      for (const scope of text(first).split(' ')) if (scope) define(outcome.scopes, scope, name.endsWith('addScope'));
      return;
    case 'user.setUserMetadata':
      setMetadata(outcome.userMetadata, first, second);
      return;
    case 'user.setAppMetadata':
      setMetadata(outcome.appMetadata, first, second);
      return;
    case 'transaction.setMetadata':
      if (second == null) delete outcome.transaction[text(first)];
      else setMetadata(outcome.transaction, first, second);
      return;
    case 'multifactor.enable': {
      const { allowRememberBrowser } = (second ?? {}) as { allowRememberBrowser?: unknown };
      outcome.secondFactor = { allowRememberBrowser: allowRememberBrowser === true };
      return;
    }
    case 'redirect.sendUserTo':
      outcome.redirect = { url: addressOf(first) };
      return;
    case 'session.revoke':
    case 'refreshToken.revoke': {
      const { preserveRefreshTokens } = (second ?? {}) as { preserveRefreshTokens?: unknown };
      const what = name === 'session.revoke' ? 'session' : 'refreshToken';
      outcome.revoked = { what, preserveRefreshTokens: preserveRefreshTokens === true };
      outcome.denied ??= { reason: text(first), whole: whole(first) };
      return;
    }
    case 'session.setExpiresAt':
      if (typeof first !== 'number' || !Number.isFinite(first)) throw new OutcomeTooLarge('not a time in milliseconds');
      outcome.sessionEndsAt = Math.floor(first / 1000);
      return;
    case 'access.deny':
      outcome.denied ??= {
        reason: text(first),
        whole: whole(first),
        ...(second != null && { userMessage: text(second) }),
      };
      return;
    case 'validation.error':
      outcome.denied ??= { code: text(first), reason: text(first), whole: whole(first), userMessage: text(second) };
      return;
    default:
      throw new OutcomeTooLarge(`api.${name} is not known`);
  }
}

function setClaim(claims: Values, name: unknown, value: unknown): void {
  const key = text(name);
  if (key === '' || key.length > nameMax || restricted.has(key) || foreignNamespace.test(key)) return;
  if (value === undefined) delete claims[key];
  else define(claims, key, value);
}

/** The longest Location header that every browser and server accepts. */
const addressMax = 8_192;

/** @throws OutcomeTooLarge */
function addressOf(value: unknown): string {
  const address = typeof value === 'string' ? URL.parse(value) : null;
  if (!address || !['https:', 'http:'].includes(address.protocol))
    throw new OutcomeTooLarge('not an http or https URL');
  if (address.href.length > addressMax) throw new OutcomeTooLarge(`a URL of more than ${addressMax} characters`);
  return address.href;
}

/** Null removes a property, when the change is merged. */
function setMetadata(metadata: Values, name: unknown, value: unknown): void {
  const key = text(name);
  if (key !== '' && key.length <= 255 && key !== '__proto__') define(metadata, key, value ?? null);
}

function define(object: Values, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Text that the audit log, tokens and PostgreSQL accept. */
const text = (value: unknown) => whole(value).slice(0, 1_000).toWellFormed();

const whole = (value: unknown) =>
  String(value ?? '')
    .replaceAll('\0', '')
    .toWellFormed();

function checkSize(what: string, value: object, max: number): void {
  const json = JSON.stringify(value);
  if (Buffer.byteLength(json) > max) throw new OutcomeTooLarge(`${what} have more than ${max} bytes`);
  if (json.includes('\\u0000') || /\\ud[89a-f]/i.test(json))
    throw new OutcomeTooLarge(`${what} have NUL or half a character`);
}

/** Metadata with the actions' changes. */
export const changedMetadata = (before: unknown, change: Values): Values => merge(before as object, change) as Values;
