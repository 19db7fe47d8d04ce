/**
 * Token exchange (RFC 8693). A client that holds one of our access tokens for a person gets another one for that person. With
 * `actor_token` the new token names who acts (`act`, delegation); without it, the client acts as the person (impersonation).
 *
 * A token can be exchanged by the client it was issued to, and by the API it was issued for (`resource_server_identifier`). The new
 * token never grants more than its sources: its scopes are among the subject token’s, and for another API also among those of the
 * client’s own grant; it is first-party only if all its sources are; it expires with the first of them, and is revoked with any of
 * them (library/tokens/sources.ts).
 */
import {
  type Client,
  errors,
  type Provider,
  type ResourceServerInstance,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import type { PostLogin } from '../actions/post-login.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { grantKit as kit, makeGrant } from '../library/seam.ts';
import { type Source, sourcesOf } from '../library/tokens/sources.ts';
import type { OrganizationGrant } from '../organizations/of-grant.ts';
import { audienceOf, openidScopes } from '../resources/audience.ts';

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const jwtType = 'urn:ietf:params:oauth:token-type:jwt';

/** What we read from a presented token. */
type Found = {
  kind: string;
  jti: string;
  accountId?: string;
  clientId: string;
  aud?: string | string[];
  scopes: Set<string>;
  exp: number;
  grantId?: string;
  jkt?: string;
  extra?: { act?: Act; first_party?: boolean };
};
type PresentedToken = Found & { isFirstParty: boolean; sources: Source[]; organization?: string | undefined };

/** Exchanging an exchanged token makes this grow by one or two. */
const sourcesMax = 20;

/** RFC 8693 section 4.1: who acts, and on whose behalf. */
export type Act = { sub: string; act?: Act };

const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

export function registerTokenExchange(provider: Provider, postLogin: PostLogin): void {
  const parameters = ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type', 'requested_token_type'];
  provider.registerGrantType(
    tokenExchangeGrant,
    (ctx) => exchange(ctx, provider, postLogin),
    [...parameters, 'scope', 'audience', 'resource'],
    ['resource'],
  );
}

async function exchange(ctx: TokenEndpointGrantContext, provider: Provider, postLogin: PostLogin): Promise<void> {
  const client = ctx.oidc.client as Client & OwnMetadata;
  const params = ctx.oidc.params as Record<string, string | undefined>;
  if (!params.subject_token || !params.subject_token_type)
    throw new errors.InvalidRequest('missing required parameter(s) subject_token, subject_token_type');
  if (params.requested_token_type && ![accessTokenType, jwtType].includes(params.requested_token_type))
    throw new errors.InvalidRequest('unsupported requested_token_type');
  const dPoP = await kit.validateDpop(provider, ctx);
  kit.checkDpopRequired(provider, ctx, dPoP);

  const subject = await present(provider, 'subject', params.subject_token, params.subject_token_type);
  if (!subject.accountId) throw new errors.InvalidGrant('the subject token does not stand for a person');
  if (!mayExchange(client, subject))
    throw new errors.InvalidGrant('the subject token was issued neither to nor for this client');
  const actor = await actingParty(provider, params);
  const act = actor ? actClaim(actor, subject) : subject.extra?.act;
  const madeFrom = actor ? [subject, actor] : [subject];

  const [server, another] = await kit.resolveRequestedResources(provider, ctx);
  if (another) throw new errors.InvalidTarget('only one audience is supported');
  const scopes = grantedScopes(ctx, client, subject, server);
  const organization = subject.organization === undefined ? {} : { organization: subject.organization };
  const { accountId: person } = subject;
  await postLogin.atGrant(ctx, {
    accountId: person,
    amr: undefined,
    protocol: 'oauth2-token-exchange',
    ...organization,
  });
  const { grantId, accountId, end } = await makeExchangeGrant(ctx, provider, { client, madeFrom, server, scopes });

  const token = new provider.AccessToken({ accountId, client, grantId, gty: 'token-exchange' });
  if (server) token.resourceServer = server;
  else token.claims = {};
  token.scope = scopes.join(' ');
  const now = Math.floor(Date.now() / 1000);
  const exp = Math.min(end, now + (server?.accessTokenTTL ?? Number.POSITIVE_INFINITY));
  Object.assign(token, { exp, expiresIn: exp - now });
  if (dPoP) {
    await kit.checkDpopReplay(provider, ctx, dPoP, client.clientId);
    token.setThumbprint('jkt', dPoP.thumbprint);
  }
  const isFirstParty = client.is_first_party && madeFrom.every((source) => source.isFirstParty);
  exchanged.set(token, { ...(act && { act }), ...(!isFirstParty && { first_party: false }) });
  ctx.oidc.entity('AccessToken', token);
  ctx.body = kit.buildTokenResponse(provider, {
    accessToken: await token.save(),
    expiresIn: token.expiration,
    scope: token.scope || undefined,
    tokenType: token.tokenType,
    issuedTokenType: accessTokenType,
  });
}

/** The requested scopes, or else all allowed ones except `offline_access`. */
function grantedScopes(
  ctx: TokenEndpointGrantContext,
  client: Client & OwnMetadata,
  subject: PresentedToken,
  server: ResourceServerInstance | undefined,
): string[] {
  const allowed = allowedScopes(client, subject, server ? audienceOf(server.identifier()) : undefined);
  const requested = [...ctx.oidc.requestParamScopes];
  const refused = requested.filter((scope) => !allowed.has(scope));
  if (refused.length > 0) throw new errors.InvalidScope('the subject cannot give this scope', refused.join(' '));
  return requested.length > 0 ? requested : [...allowed].filter((scope) => scope !== 'offline_access');
}

/** The grant ends with the first of its source tokens, and with their grants. */
async function makeExchangeGrant(
  ctx: TokenEndpointGrantContext,
  provider: Provider,
  {
    client,
    madeFrom,
    server,
    scopes,
  }: { client: Client; madeFrom: PresentedToken[]; server: ResourceServerInstance | undefined; scopes: string[] },
): Promise<{ grantId: string; accountId: string; end: number }> {
  const sources = madeFrom.flatMap((token) => token.sources);
  if (sources.length > sourcesMax) throw new errors.InvalidRequest('the token was exchanged too often');
  const account = await kit.findAccount(provider, ctx, madeFrom[0]!.accountId!);
  if (!account) throw new errors.InvalidGrant('account not found');
  ctx.oidc.entity('Account', account);
  const end = Math.min(...madeFrom.map(({ exp }) => exp));
  if (end <= Math.floor(Date.now() / 1000)) throw new errors.InvalidGrant('the subject token is not valid');
  const { organization } = madeFrom[0]!;
  const grant = makeGrant(provider, { accountId: account.accountId, client, exp: end, sources, organization });
  const openid = scopes.filter((scope) => openidScopes.includes(scope));
  if (openid.length > 0) grant.addOIDCScope(openid.join(' '));
  if (server) grant.addResourceScope(server.identifier(), scopes.join(' '));
  const grantId = await grant.save();
  ctx.oidc.entity('Grant', grant);
  return { grantId, accountId: account.accountId, end };
}

// Where the token being made comes from; the library asks for its extra claims while saving it.
const exchanged = new WeakMap<object, { act?: Act; first_party?: false }>();

/** `extraTokenClaims` of the configuration. */
export function exchangedClaims(token: object): { act?: Act; first_party?: false } | undefined {
  const claims = exchanged.get(token);
  return claims && Object.keys(claims).length > 0 ? claims : undefined;
}

async function present(provider: Provider, which: string, value: string, type: string): Promise<PresentedToken> {
  if (type !== accessTokenType && type !== jwtType) throw new errors.InvalidRequest(`unsupported ${which}_token_type`);
  const found = ((await provider.AccessToken.find(value)) ?? (await provider.ClientCredentials.find(value))) as
    | (Found & { isExpired: boolean })
    | undefined;
  if (!found || found.isExpired) throw new errors.InvalidGrant(`the ${which} token is not valid`);
  // A sender-constrained token proves nothing when presented by a mere holder.
  if (found.jkt) throw new errors.InvalidGrant(`the ${which} token is sender-constrained`);
  const grant = found.grantId ? await provider.Grant.find(found.grantId) : undefined;
  const client = (await provider.Client.find(found.clientId)) as (Client & OwnMetadata) | undefined;
  if (!client || (found.grantId && !grant)) throw new errors.InvalidGrant(`the ${which} token was revoked`);
  const isFirstParty = client.is_first_party && found.extra?.first_party !== false;
  const { organization } = (grant ?? {}) as Partial<OrganizationGrant>;
  return Object.assign(found, { isFirstParty, organization, sources: sourcesOf(found, value, grant) });
}

async function actingParty(
  provider: Provider,
  params: Record<string, string | undefined>,
): Promise<PresentedToken | undefined> {
  if (!params.actor_token) {
    if (params.actor_token_type) throw new errors.InvalidRequest('actor_token_type without actor_token');
    return undefined;
  }
  if (!params.actor_token_type) throw new errors.InvalidRequest('missing required parameter(s) actor_token_type');
  return present(provider, 'actor', params.actor_token, params.actor_token_type);
}

/** Who acts now; whoever acted by the subject token before is nested inside (RFC 8693 section 4.1). */
function actClaim(actor: PresentedToken, subject: PresentedToken): Act {
  const earlier = subject.extra?.act;
  return { sub: actor.accountId ?? actor.clientId, ...(earlier && { act: earlier }) };
}

function mayExchange(client: Client & OwnMetadata, subject: PresentedToken): boolean {
  if (subject.clientId === client.clientId) return true;
  const api = client.resource_server_identifier;
  return client.clientAuthMethod !== 'none' && api != null && [subject.aud].flat().includes(api);
}

function allowedScopes(client: OwnMetadata, subject: PresentedToken, audience: string | undefined): Set<string> {
  if (audience === undefined || [subject.aud].flat().includes(audience)) return subject.scopes;
  const grant = client.client_grants.find((own) => own.audience === audience);
  if (!grant) throw new errors.AccessDenied(`client is not authorized to access ${audience}`);
  const allowed = new Set([...openidScopes, ...grant.scope]);
  return new Set([...subject.scopes].filter((scope) => allowed.has(scope)));
}
