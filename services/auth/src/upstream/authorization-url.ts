import * as oidc from 'openid-client';
import type { ConnectionModel } from '../generated/models.ts';
import type { Attempt } from './attempts.ts';
import type { Remote } from './discovery.ts';
import type { Upstream } from './upstream.ts';

type AuthorizationOptions = {
  params?: Record<string, unknown>;
  hint?: string | undefined;
  reauthenticate?: boolean;
  /** The person may choose another account there, and need not authenticate anew. */
  selectAccount?: boolean;
  /** The most seconds since the person authenticated. */
  maxAge?: number | undefined;
};

/** The provider's address for this sign-in. @throws UpstreamFailure */
export async function authorizationUrl(
  { remotes, attempts, callback }: Upstream,
  connection: ConnectionModel,
  purpose: Attempt['for'],
  { params = {}, hint, reauthenticate = false, selectAccount = false, maxAge }: AuthorizationOptions = {},
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
    ...chosenParameters(remote, params),
    // What this sign-in needs is not the connection's choice.
    ...((reauthenticate || selectAccount) && definition.reauthenticate && { prompt: definition.reauthenticate }),
    ...(asksAuthTime && { max_age: String(maxAge) }),
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
