/** Handles a provider's answer: exchanges its code for tokens, which say who signed in. */
import * as oidc from 'openid-client';
import type { Attempt } from './attempts.ts';
import { checkDirectory, commonEndpointOf, matchesTemplate } from './directories.ts';
import type { Remote } from './discovery.ts';
import { failureOf, UpstreamFailure } from './failure.ts';
import type { ProviderClaims } from './profile.ts';

export type Tokens = { access_token: string; refresh_token?: string; id_token?: string; expires_at?: number };

/** @throws UpstreamFailure */
export async function exchange(
  remote: Remote,
  attempt: Attempt,
  answer: URLSearchParams,
): Promise<{ claims: ProviderClaims; tokens: Tokens }> {
  checkIssuer(remote, answer);
  try {
    return await (remote.definition.protocol === 'oidc' ? oidcExchange : oauthExchange)(remote, attempt, answer);
  } catch (error) {
    throw failureOf(error);
  }
}

/** RFC 9207: checks that the answer comes from the provider that was asked. Without `iss`, only the state can tell. */
function checkIssuer({ metadata, strategy, options }: Remote, answer: URLSearchParams): void {
  const iss = answer.get('iss');
  const isMissing = iss === null && metadata.authorization_response_iss_parameter_supported === true;
  const isCommon = commonEndpointOf(strategy, options) !== undefined;
  // The ID token says which directory it is.
  const isIts = iss === null || (isCommon ? matchesTemplate(iss, metadata.issuer) : iss === metadata.issuer);
  if (isMissing || !isIts) throw new UpstreamFailure('mixed_up', { detail: `iss is ${iss}, not ${metadata.issuer}` });
}

async function askForTokens(remote: Remote, attempt: Attempt, answer: URLSearchParams, more: object) {
  const configuration = await remote.configuration();
  const url = new URL(attempt.redirectUri);
  url.search = String(answer);
  const checks = { pkceCodeVerifier: attempt.verifier, expectedState: answer.get('state')!, ...more };
  return { configuration, response: await oidc.authorizationCodeGrant(configuration, url, checks) };
}

async function oidcExchange(remote: Remote, attempt: Attempt, answer: URLSearchParams) {
  const { configuration, response } = await askForTokens(remote, attempt, answer, {
    expectedNonce: attempt.nonce,
    idTokenExpected: true,
  });
  const tokenset = { ...response.claims()!, ...namesOf(answer) };
  checkDirectory(remote, tokenset.tid);
  checkFresh(attempt, tokenset.auth_time);
  const userinfo = needsUserinfo(remote, tokenset)
    ? await oidc.fetchUserInfo(configuration, response.access_token, String(tokenset.sub))
    : {};
  return { claims: { tokenset, userinfo }, tokens: tokensOf(response) };
}

/** Tolerates clock differences. */
const leewaySeconds = 30;

/** A provider that was asked for it must state when the person signed in; if it states a time unasked, that counts too (Core 3.1.3.7, 13). */
function checkFresh({ freshSince, asksAuthTime }: Attempt, at: unknown): void {
  if (freshSince === undefined || (at === undefined && !asksAuthTime)) return;
  if (typeof at !== 'number') throw new UpstreamFailure('not_anew', { detail: 'the ID token has no auth_time' });
  if (at + leewaySeconds < freshSince)
    throw new UpstreamFailure('not_anew', { detail: `auth_time is ${freshSince - at} s too old` });
}

/** Whether to ask for the person's profile: the ID token lacks something requested, and the provider has an endpoint for it. */
function needsUserinfo({ metadata, options }: Remote, claims: Record<string, unknown>): boolean {
  if (!metadata.userinfo_endpoint) return false;
  const { mapping_mode, attributes } = options.attribute_map ?? {};
  const isMapped = mapping_mode === 'use_map' && JSON.stringify(attributes ?? {}).includes('context.userinfo.');
  return isMapped || claims.email === undefined || claims.name === undefined;
}

/** Apple sends the name once, beside the code and unsigned: nothing but a name is taken from there. */
function namesOf(answer: URLSearchParams): Record<string, string> {
  try {
    const { name } = JSON.parse(answer.get('user') ?? '{}') as { name?: { firstName?: unknown; lastName?: unknown } };
    const [first, last] = [name?.firstName, name?.lastName].map((each) => (typeof each === 'string' ? each : ''));
    if (!first && !last) return {};
    return { given_name: first!, family_name: last!, name: `${first} ${last}`.trim() };
  } catch {
    return {};
  }
}

/** GitHub's addresses are a separate list, requested at the same time. */
async function oauthExchange(remote: Remote, attempt: Attempt, answer: URLSearchParams) {
  const { configuration, response } = await askForTokens(remote, attempt, answer, {});
  const isGithub = remote.strategy === 'github';
  const address = new URL(remote.options.userInfoURL ?? userInfoUrlOf(remote));
  const read = async (url: URL) => {
    const answered = await oidc.fetchProtectedResource(
      configuration,
      response.access_token,
      url,
      'GET',
      undefined,
      headers,
    );
    if (answered.status !== 200)
      throw new UpstreamFailure(answered.status >= 500 ? 'out_of_order' : 'bad_profile', {
        detail: `${url.pathname} answered ${answered.status}`,
      });
    return (await answered.json()) as unknown;
  };
  const [person, emails] = await Promise.all([
    read(address),
    isGithub ? read(new URL(`${address.href.replace(/\/$/, '')}/emails`)).catch(() => []) : undefined,
  ]).catch((error: unknown) => {
    throw error instanceof SyntaxError ? new UpstreamFailure('bad_profile', { cause: error }) : error;
  });
  if (typeof person !== 'object' || person === null || Array.isArray(person)) throw new UpstreamFailure('bad_profile');
  const userinfo = person as Record<string, unknown>;
  return {
    claims: { tokenset: {}, userinfo: isGithub ? ofGithub(userinfo, emails) : userinfo },
    tokens: tokensOf(response),
  };
}

const headers = new Headers({ accept: 'application/json' });

/** A GitHub Enterprise Server has its API below its own address. */
function userInfoUrlOf({ definition, options }: Remote): string {
  if (options.tokenURL) return `${new URL(options.tokenURL).origin}/api/v3/user`;
  if (!definition.userInfoURL) throw new UpstreamFailure('misconfigured');
  return definition.userInfoURL;
}

/** https://docs.github.com/en/rest/users/emails: the primary address, which may be unverified. */
function ofGithub(person: Record<string, unknown>, emails: unknown): Record<string, unknown> {
  const all = (Array.isArray(emails) ? emails : []) as { email?: unknown; primary?: unknown; verified?: unknown }[];
  const primary = all.find((each) => each?.primary === true);
  return {
    ...person,
    email: primary?.email ?? person.email,
    email_verified: primary?.verified === true,
    name: person.name ?? person.login,
    nickname: person.login,
    picture: person.avatar_url,
  };
}

function tokensOf(response: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers): Tokens {
  const { access_token, refresh_token, id_token } = response;
  const seconds = response.expiresIn();
  return {
    access_token,
    ...(refresh_token !== undefined && { refresh_token }),
    ...(id_token !== undefined && { id_token }),
    ...(seconds !== undefined && { expires_at: Math.floor(Date.now() / 1000) + seconds }),
  };
}
