/**
 * Token exchange (RFC 8693). A client that holds a person's access token of ours gets one for that person, to go on with:
 * with `actor_token` the new token says who acts (`act`, delegation), without it is as if the person came (impersonation).
 *
 * A token can be exchanged by the client it was given to, and by the API it was given for (`resource_server_identifier`).
 * Scopes never grow: for the same API they are a subset of the subject token's, for another one what the client's own grant for
 * it allows. The new token dies no later than the old.
 */
import { type Client, errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import type { OwnMetadata } from '../clients/metadata.ts';
import { grantKit as kit } from '../provider-seam.ts';
import { audienceOf, openidScopes } from '../resources/audience.ts';

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const jwtType = 'urn:ietf:params:oauth:token-type:jwt';

/** What we read of a token that was presented. */
type Presented = {
  accountId?: string;
  clientId: string;
  aud?: string | string[];
  scopes: Set<string>;
  exp: number;
  grantId?: string;
  jkt?: string;
  extra?: { act?: Act };
};

/** RFC 8693 section 4.1: who acts, and on whose behalf that one acts. */
export type Act = { sub: string; act?: Act };

export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

export function registerTokenExchange(provider: Provider): void {
  const handler = async (ctx: KoaContextWithOIDC): Promise<void> => {
    const client = ctx.oidc.client as Client & OwnMetadata;
    const params = ctx.oidc.params as Record<string, string | undefined>;
    if (!params.subject_token || !params.subject_token_type)
      throw new errors.InvalidRequest('missing required parameter(s) subject_token, subject_token_type');
    if (params.requested_token_type && ![accessTokenType, jwtType].includes(params.requested_token_type))
      throw new errors.InvalidRequest('unsupported requested_token_type');
    const dPoP = await kit.validateDpop(provider, ctx as never);
    kit.checkDpopRequired(provider, ctx as never, dPoP);

    const subject = await present(provider, 'subject', params.subject_token, params.subject_token_type);
    if (!subject.accountId) throw new errors.InvalidGrant('the subject token is no person’s');
    if (!mayExchange(client, subject))
      throw new errors.InvalidGrant('the subject token was neither given to nor for this client');
    const act = await actingParty(provider, params, subject);

    const [server, another] = await kit.resolveRequestedResources(provider, ctx as never);
    if (another) throw new errors.InvalidTarget('only one audience is supported');
    const audience = server ? audienceOf(server.identifier()) : undefined;
    const allowed = allowedScopes(client, subject, audience);
    const requested = [...ctx.oidc.requestParamScopes];
    const refused = requested.filter((scope) => !allowed.has(scope));
    if (refused.length > 0) throw new errors.InvalidScope('the scope is not the subject’s to give', refused.join(' '));
    const scopes = requested.length > 0 ? requested : [...allowed].filter((scope) => scope !== 'offline_access');

    const account = await kit.findAccount(provider, ctx as never, subject.accountId, undefined as never);
    if (!account) throw new errors.InvalidGrant('account not found');
    ctx.oidc.entity('Account', account);
    const remaining = subject.exp - Math.floor(Date.now() / 1000);
    const grant = new provider.Grant({ accountId: account.accountId, client, expiresIn: remaining } as never);
    const openid = scopes.filter((scope) => openidScopes.includes(scope));
    if (openid.length > 0) grant.addOIDCScope(openid.join(' '));
    if (server) grant.addResourceScope(server.identifier(), scopes.join(' '));
    const grantId = await grant.save();
    ctx.oidc.entity('Grant', grant);

    const token = new provider.AccessToken({
      accountId: account.accountId,
      client,
      grantId,
      gty: 'token-exchange',
    } as never);
    if (server) token.resourceServer = server as never;
    else token.claims = {};
    token.scope = scopes.join(' ');
    (token as { expiresIn?: number }).expiresIn = Math.min(server?.accessTokenTTL ?? remaining, remaining);
    if (dPoP) {
      await kit.checkDpopReplay(provider, ctx as never, dPoP, client.clientId, errors.InvalidGrant as never);
      token.setThumbprint('jkt', dPoP.thumbprint);
    }
    actors.set(token, act);
    ctx.oidc.entity('AccessToken', token);
    ctx.body = kit.buildTokenResponse(provider, {
      accessToken: await token.save(),
      expiresIn: token.expiration,
      scope: token.scope || undefined,
      tokenType: token.tokenType,
      issuedTokenType: accessTokenType,
    } as never);
  };
  const parameters = ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type', 'requested_token_type'];
  provider.registerGrantType(
    tokenExchangeGrant,
    handler as never,
    [...parameters, 'scope', 'audience', 'resource'],
    ['resource'],
  );
}

// Who acts through a token that is being made; the library asks for its further claims while it saves it.
const actors = new WeakMap<object, Act | undefined>();

/** `extraTokenClaims` of the configuration. */
export function actClaim(token: object): { act: Act } | undefined {
  const act = actors.get(token);
  return act ? { act } : undefined;
}

async function present(provider: Provider, which: string, value: string, type: string): Promise<Presented> {
  if (type !== accessTokenType && type !== jwtType) throw new errors.InvalidRequest(`unsupported ${which}_token_type`);
  const found = ((await provider.AccessToken.find(value)) ?? (await provider.ClientCredentials.find(value))) as
    | (Presented & { isExpired: boolean })
    | undefined;
  if (!found || found.isExpired) throw new errors.InvalidGrant(`the ${which} token is not valid`);
  // A sender-constrained token is worth nothing to whoever only holds it.
  if (found.jkt) throw new errors.InvalidGrant(`the ${which} token is sender-constrained`);
  if (found.grantId && !(await provider.Grant.find(found.grantId)))
    throw new errors.InvalidGrant(`the ${which} token was revoked`);
  return found;
}

async function actingParty(
  provider: Provider,
  params: Record<string, string | undefined>,
  subject: Presented,
): Promise<Act | undefined> {
  const earlier = subject.extra?.act;
  if (!params.actor_token) {
    if (params.actor_token_type) throw new errors.InvalidRequest('actor_token_type without actor_token');
    return earlier;
  }
  if (!params.actor_token_type) throw new errors.InvalidRequest('missing required parameter(s) actor_token_type');
  const actor = await present(provider, 'actor', params.actor_token, params.actor_token_type);
  const sub = actor.accountId ?? actor.clientId;
  return earlier ? { sub, act: earlier } : { sub };
}

function mayExchange(client: Client & OwnMetadata, subject: Presented): boolean {
  if (subject.clientId === client.clientId) return true;
  const api = client.resource_server_identifier;
  return client.clientAuthMethod !== 'none' && api != null && [subject.aud].flat().includes(api);
}

function allowedScopes(client: OwnMetadata, subject: Presented, audience: string | undefined): Set<string> {
  if (audience === undefined || [subject.aud].flat().includes(audience)) return subject.scopes;
  const grant = client.client_grants.find((own) => own.audience === audience);
  if (!grant) throw new errors.AccessDenied(`client is not authorized to access ${audience}`);
  const openid = [...subject.scopes].filter((scope) => openidScopes.includes(scope));
  return new Set([...openid, ...grant.scope]);
}
