/**
 * A sign-in at another provider, from the page that leads there to the one that continues. The browser leaves with a `state` of this
 * interaction, returns to the address that every provider knows (routes.ts), and goes on to the interaction itself, whose cookie proves
 * that it is the browser that left: an answer obtained by somebody else signs nobody in (login CSRF, RFC 9700 4.7).
 */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Request } from 'express';
import { errors } from 'oidc-provider';
import * as oidc from 'openid-client';
import type { AccountStore } from '../accounts/store.ts';
import { finishLogin } from '../factors/second-factor.ts';
import type { ConnectionModel } from '../generated/models.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { SettingsStore } from '../settings/store.ts';
import { makeOpenUpstreamAccount, type OpenUpstreamAccount } from './account.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { Remote, Remotes } from './discovery.ts';
import { exchange } from './exchange.ts';
import { descriptionOf, failureOf, UpstreamFailure } from './failure.ts';
import { labelOf } from './offered.ts';
import { rememberUpstream } from './session.ts';
import { isUpstream, strategies } from './strategies.ts';
import type { UpstreamTokens } from './tokens.ts';

export type Upstream = {
  /** The address that providers answer to. */
  callback: string;
  remotes: Remotes;
  attempts: Attempts;
  openAccount: OpenUpstreamAccount;
};

export function makeUpstream(parts: {
  issuer: string;
  remotes: Remotes;
  attempts: Attempts;
  accounts: AccountStore;
  settings: SettingsStore;
  upstreamTokens: UpstreamTokens;
}): Upstream {
  const { issuer, remotes, attempts } = parts;
  return {
    callback: `${baseUrlOf(issuer)}login/callback`,
    remotes,
    attempts,
    openAccount: makeOpenUpstreamAccount(parts),
  };
}

/** Sends the browser to the provider, or back to the application with the error. */
export async function redirectToProvider(
  interaction: Interaction,
  connection: ConnectionModel,
  hint?: string,
): Promise<void> {
  const { upstream } = interaction.parts;
  const { params, details } = interaction;
  const given = hint ?? (typeof params.login_hint === 'string' ? params.login_hint : undefined);
  const { reasons = [] } = details.prompt;
  // A provider that accepts `max_age` decides itself whether it has passed.
  const isToldAge = isUpstream(connection.strategy) && 'maxAge' in strategies[connection.strategy];
  const reauthenticate = reasons.includes('login_prompt') || (reasons.includes('max_age') && !isToldAge);
  try {
    const address = await authorizationUrl(
      upstream,
      connection,
      { kind: 'login', uid: interaction.uid },
      { params, hint: given, reauthenticate, maxAge: maxAgeOf(params) },
    );
    interaction.leave(address.href);
  } catch (error) {
    await refuse(interaction, connection, error);
  }
}

function maxAgeOf({ max_age: given }: Record<string, unknown>): number | undefined {
  return given === undefined ? undefined : Number(given);
}

/** Takes the connection's name from the interaction's path. */
export async function redirectToNamedProvider(interaction: Interaction, request: Request): Promise<void> {
  const { connections } = interaction.parts;
  const connection = await connections.find(String(request.params.connection), interaction.client.clientId);
  if (!connection || !isUpstream(connection.strategy)) return interaction.turnTo('identifier');
  const { identifier } = await interaction.recall('');
  return redirectToProvider(interaction, connection, identifier?.includes('@') ? identifier : undefined);
}

type AuthorizationOptions = {
  params?: Record<string, unknown>;
  hint?: string | undefined;
  reauthenticate?: boolean;
  /** The most seconds since the person authenticated. */
  maxAge?: number | undefined;
};

/** The provider's address for this sign-in. @throws UpstreamFailure */
export async function authorizationUrl(
  { remotes, attempts, callback }: Upstream,
  connection: ConnectionModel,
  purpose: Attempt['for'],
  { params = {}, hint, reauthenticate = false, maxAge }: AuthorizationOptions = {},
): Promise<URL> {
  const remote = await remotes.open(connection);
  const { definition, options } = remote;
  const redirectUri = options.own_callback ? `${callback}/${encodeURIComponent(connection.name)}` : callback;
  const nonce = oidc.randomNonce();
  const isOff = options.pkce_enabled === false || options.connection_settings?.pkce === 'disabled';
  const verifier = isOff ? undefined : oidc.randomPKCECodeVerifier();
  const asksAuthTime = definition.maxAge === true && maxAge !== undefined;
  const state = await attempts.begin({
    for: purpose,
    connection: connection.name,
    redirectUri,
    nonce,
    verifier,
    freshSince: freshSince({ reauthenticate, maxAge }),
    asksAuthTime,
  });
  const wanted: Record<string, string | undefined> = {
    ...(hint && definition.hint && { [definition.hint]: hint }),
    ...(reauthenticate && definition.reauthenticate && { prompt: definition.reauthenticate }),
    ...(asksAuthTime && { max_age: String(maxAge) }),
    ...chosenParameters(remote, params),
    redirect_uri: redirectUri,
    scope: scopeOf(remote),
    state,
    ...(definition.protocol === 'oidc' && { nonce }),
    ...(definition.responseMode && { response_mode: definition.responseMode }),
    ...(verifier && {
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }),
  };
  const set = Object.entries(wanted).filter((entry): entry is [string, string] => !!entry[1]);
  return oidc.buildAuthorizationUrl(await remote.configuration(), Object.fromEntries(set));
}

/** Undefined if the time does not matter. */
function freshSince({
  reauthenticate,
  maxAge,
}: Pick<AuthorizationOptions, 'reauthenticate' | 'maxAge'>): number | undefined {
  if (!reauthenticate && maxAge === undefined) return undefined;
  return Math.floor(Date.now() / 1000) - (reauthenticate ? 0 : maxAge!);
}

/** Parameters added by the connection: constants, and ones taken from the application's own request. */
function chosenParameters({ options }: Remote, params: Record<string, unknown>): Record<string, string> {
  const chosen: Record<string, unknown> = { ...options.authParams };
  for (const [name, of] of Object.entries(options.authParamsMap ?? {})) chosen[name] = params[of];
  for (const [name, given] of Object.entries(options.upstream_params ?? {}))
    if (given) chosen[name] = 'alias' in given ? params[String(given.alias)] : given.value;
  return Object.fromEntries(
    Object.entries(chosen).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function scopeOf({ definition, options }: Remote): string {
  const given = options.scope ?? [];
  const asked = typeof given === 'string' ? given.split(/[\s,]+/) : given;
  const all =
    asked.filter(Boolean).length > 0 && definition.label === undefined ? asked : [...definition.scope, ...asked];
  const base = definition.protocol === 'oidc' ? ['openid'] : [];
  return [...new Set([...base, ...all.filter(Boolean)])].join(' ');
}

/** Handles the provider's answer, in the browser that left for it. */
export async function handleCallback(interaction: Interaction, request: Request): Promise<void> {
  const { parts, uid, client } = interaction;
  const answer = callbackParams(request);
  const attempt = await parts.upstream.attempts.redeem(answer.get('state') ?? '');
  if (attempt?.for.kind !== 'login' || attempt.for.uid !== uid)
    throw new errors.SessionNotFound('the answer of a provider was used before, or is of another sign-in');
  const connection = await parts.connections.find(attempt.connection, client.clientId);
  if (!connection) return refuse(interaction, attempt.connection, new UpstreamFailure('not_enabled'));
  try {
    const remote = await parts.upstream.remotes.open(connection);
    const answered = await exchange(remote, attempt, answer);
    const { account, isNew } = await parts.upstream.openAccount(remote, answered);
    const owner = await parts.accounts.ownerOf(account);
    if (!owner || owner.blocked) throw new UpstreamFailure('blocked');
    if (isNew) parts.report.signedUp(account, client.clientId, interaction.address);
    await rememberUpstream(interaction, {
      accountId: owner.userId,
      connection: connection.name,
      idToken: answered.tokens.id_token,
    });
    return await finishLogin(interaction, owner, { amr: ['fed'], connection: connection.name });
  } catch (error) {
    return refuse(interaction, connection, error);
  }
}

/** The parameters that a provider may answer with. */
export const callbackFields = ['code', 'state', 'iss', 'error', 'error_description', 'user'];

export function callbackParams(request: Request): URLSearchParams {
  const { search } = new URL(request.originalUrl, 'http://gate');
  const given = new URLSearchParams(search);
  return new URLSearchParams([...given].filter(([name]) => callbackFields.includes(name)));
}

/** The application gets an OAuth error; the log says what to do. @throws errors that are not the provider's */
async function refuse(interaction: Interaction, connection: ConnectionModel | string, error: unknown): Promise<void> {
  const failure = failureOf(error);
  if (!(failure instanceof UpstreamFailure)) throw failure;
  const isKnown = typeof connection !== 'string';
  const name = isKnown ? connection.name : connection;
  interaction.parts.report.upstreamFailed(interaction, {
    connection: name,
    strategy: isKnown ? connection.strategy : '',
    failure,
  });
  const error_description = descriptionOf(failure, isKnown ? labelOf(connection) : name);
  await interaction.finish({ error: failure.code, error_description }, false);
}
