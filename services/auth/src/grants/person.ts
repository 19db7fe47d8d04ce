/** Issues tokens for a person whom a grant plug-in has identified: the part that all such grants share. */
import {
  type Client,
  errors,
  type Provider,
  type ResourceServerInstance,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import type { PostLogin } from '../actions/post-login.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { RequireSecondFactor } from '../factors/mfa-token.ts';
import { grantKit as kit, makeGrant } from '../library/seam.ts';
import type { Report } from '../report.ts';
import { audienceOf, openidScopes } from '../resources/audience.ts';
import type { ResourceStore } from '../resources/store.ts';
import type { GrantPlugin } from './plugin.ts';

/** What Auth0 grants if no scope and no API are named. */
const defaultScopes = ['openid', 'profile', 'email'];

type PersonGrantParts = {
  resources: ResourceStore;
  postLogin: PostLogin;
  requireSecondFactor: RequireSecondFactor;
  report: Pick<Report, 'loggedInByGrant'>;
};

export function registerPersonGrant(provider: Provider, plugin: GrantPlugin, parts: PersonGrantParts): void {
  provider.registerGrantType(
    plugin.grantType,
    (ctx) => issueTokens(ctx, provider, plugin, parts),
    [...plugin.parameters, 'scope', 'audience', 'resource'],
    ['resource'],
  );
}

async function issueTokens(
  ctx: TokenEndpointGrantContext,
  provider: Provider,
  plugin: GrantPlugin,
  { resources, postLogin, requireSecondFactor, report }: PersonGrantParts,
): Promise<void> {
  const client = ctx.oidc.client!;
  const begunAt = Math.floor(Date.now() / 1000);
  // As at Auth0, where organizations do not apply to these grants.
  if ((client as Client & OwnMetadata).organization_usage === 'require')
    throw new errors.UnauthorizedClient('parameter organization is required for this client');
  const dPoP = await kit.validateDpop(provider, ctx);
  kit.checkDpopRequired(provider, ctx, dPoP);
  await plugin.prepare?.(ctx, client);
  const servers = await kit.resolveRequestedResources(provider, ctx);
  if (servers.length > 1) throw new errors.InvalidTarget('only one audience is supported');
  const server = servers[0];
  const requested = await requestedScopes(ctx, server, resources);

  const subject = await plugin.authenticate(ctx, client);
  const account = await kit.findAccount(provider, ctx, subject.accountId);
  if (!account) throw new errors.InvalidGrant('account not found');
  // The proof is of the password at that time; it may have changed since.
  ctx.oidc.entity('Account', Object.assign(account, { from: subject.authTime ?? begunAt }));
  const protocol = protocolOf(plugin.grantType);
  await postLogin.atGrant(ctx, { amr: undefined, ...subject, protocol }, requireSecondFactor);

  const openid = [...requested].filter((scope) => openidScopes.includes(scope));
  const grant = makeGrant(provider, { accountId: account.accountId, client });
  if (openid.length > 0) grant.addOIDCScope(openid.join(' '));
  if (server) grant.addResourceScope(server.identifier(), [...requested].join(' '));
  const grantId = await grant.save();
  ctx.oidc.entity('Grant', grant);

  // The properties of an authorization code that the library reads when it builds tokens.
  const { amr, acr, authTime = Math.floor(Date.now() / 1000) } = subject;
  const common = { accountId: account.accountId, grantId, gty: plugin.grantType };
  const source = { ...common, amr, authTime, claims: {}, ...(acr !== undefined && { acr }) };

  const accessToken = new provider.AccessToken({ ...common, client });
  // Read by claims.ts.
  Object.assign(accessToken, { proven: { authTime, amr } });
  if (dPoP) {
    await kit.checkDpopReplay(provider, ctx, dPoP, client.clientId);
    accessToken.setThumbprint('jkt', dPoP.thumbprint);
  }
  if (server) {
    accessToken.resourceServer = server;
    accessToken.scope = grant.getResourceScopeFiltered(server.identifier(), requested);
  } else {
    accessToken.claims = {};
    accessToken.scope = grant.getOIDCScopeFiltered(requested);
  }
  ctx.oidc.entity('AccessToken', accessToken);
  const access = await accessToken.save();
  const offline = { ...source, client, resource: server?.identifier(), scope: [...requested].join(' ') };
  const wantsOffline = requested.has('offline_access');

  ctx.body = kit.buildTokenResponse(provider, {
    accessToken: access,
    expiresIn: accessToken.expiration,
    idToken: requested.has('openid') ? await idToken(ctx, provider, source, openid) : undefined,
    refreshToken: wantsOffline ? await refreshToken(ctx, provider, accessToken, offline) : undefined,
    scope: accessToken.scope || undefined,
    tokenType: accessToken.tokenType,
  });
  const { loggedInFrom } = subject;
  if (loggedInFrom !== undefined)
    report.loggedInByGrant({ userId: account.accountId }, client.clientId, loggedInFrom, amr ?? []);
}

/** The protocol as actions see it, in Auth0's words. */
function protocolOf(grantType: string): string {
  return grantType.includes('password') && !grantType.includes('passwordless') ? 'oauth2-password' : grantType;
}

/** Without `scope`: everything the API has, as at Auth0, and no refresh token. */
async function requestedScopes(
  ctx: TokenEndpointGrantContext,
  server: ResourceServerInstance | undefined,
  resources: ResourceStore,
): Promise<Set<string>> {
  const asked = [...ctx.oidc.requestParamScopes];
  const api = server ? await resources.find(audienceOf(server.identifier())) : undefined;
  if (asked.length === 0) return new Set(api ? api.scopes.map((scope) => scope.value) : defaultScopes);
  const offline = ctx.oidc.client!.grantTypeAllowed('refresh_token') && (!server || api?.allowOfflineAccess === true);
  const available = new Set([...openidScopes, ...(api?.scopes.map((scope) => scope.value) ?? [])]);
  return new Set(asked.filter((scope) => available.has(scope) && (scope !== 'offline_access' || offline)));
}

async function idToken(
  ctx: TokenEndpointGrantContext,
  provider: Provider,
  source: { amr: string[] | undefined; acr?: string; authTime: number },
  openid: string[],
): Promise<string> {
  const claims = await ctx.oidc.account!.claims('id_token', openid.join(' '), {}, []);
  const { amr, acr, authTime } = source;
  const how = { amr, auth_time: authTime, ...(acr !== undefined && { acr }) };
  const token = new provider.IdToken({ ...claims, ...how }, { ctx });
  // Missing in the typings; the library sets them whenever it makes an ID token.
  Object.assign(token, { scope: openid.join(' '), mask: acr === undefined ? {} : { acr: null }, rejected: [] });
  return token.issue({ use: 'idtoken' });
}

async function refreshToken(
  ctx: TokenEndpointGrantContext,
  provider: Provider,
  accessToken: InstanceType<Provider['AccessToken']>,
  source: ConstructorParameters<Provider['RefreshToken']>[0],
): Promise<string> {
  const token = new provider.RefreshToken({ ...source, rotations: 0 });
  await kit.applyRefreshTokenBindings(provider, ctx, accessToken, token);
  ctx.oidc.entity('RefreshToken', token);
  return token.save();
}
