/** Issues tokens for a person whom a grant plug-in has identified: the part that all such grants share. */
import { errors, type Provider, type ResourceServerInstance, type TokenEndpointGrantContext } from 'oidc-provider';
import { grantKit as kit, makeGrant } from '../library/seam.ts';
import { audienceOf, openidScopes } from '../resources/audience.ts';
import type { ResourceStore } from '../resources/store.ts';
import type { GrantPlugin } from './plugin.ts';

/** What Auth0 grants if no scope and no API are named. */
const defaultScopes = ['openid', 'profile', 'email'];

export function registerPersonGrant(provider: Provider, plugin: GrantPlugin, resources: ResourceStore): void {
  const handler = async (ctx: TokenEndpointGrantContext): Promise<void> => {
    const client = ctx.oidc.client!;
    const dPoP = await kit.validateDpop(provider, ctx);
    kit.checkDpopRequired(provider, ctx, dPoP);
    const servers = await kit.resolveRequestedResources(provider, ctx);
    if (servers.length > 1) throw new errors.InvalidTarget('only one audience is supported');
    const server = servers[0];
    const requested = await requestedScopes(ctx, server, resources);

    const subject = await plugin.authenticate(ctx, client);
    const account = await kit.findAccount(provider, ctx, subject.accountId);
    if (!account) throw new errors.InvalidGrant('account not found');
    ctx.oidc.entity('Account', account);

    const grant = makeGrant(provider, { accountId: account.accountId, client });
    const openid = [...requested].filter((scope) => openidScopes.includes(scope));
    if (openid.length > 0) grant.addOIDCScope(openid.join(' '));
    if (server) grant.addResourceScope(server.identifier(), [...requested].join(' '));
    const grantId = await grant.save();
    ctx.oidc.entity('Grant', grant);

    // The properties of an authorization code that the library’s token building reads.
    const authTime = Math.floor(Date.now() / 1000);
    const source = {
      accountId: account.accountId,
      grantId,
      gty: plugin.grantType,
      amr: subject.amr,
      authTime,
      claims: {},
    };

    const accessToken = new provider.AccessToken({
      accountId: account.accountId,
      client,
      grantId,
      gty: source.gty,
    });
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

    let refresh: string | undefined;
    if (requested.has('offline_access')) {
      const resource = server?.identifier();
      const scope = [...requested].join(' ');
      const refreshToken = new provider.RefreshToken({ ...source, client, resource, scope, rotations: 0 });
      await kit.applyRefreshTokenBindings(provider, ctx, accessToken, refreshToken);
      ctx.oidc.entity('RefreshToken', refreshToken);
      refresh = await refreshToken.save();
    }

    ctx.body = kit.buildTokenResponse(provider, {
      accessToken: access,
      expiresIn: accessToken.expiration,
      idToken: requested.has('openid') ? await idToken(ctx, provider, source, openid) : undefined,
      refreshToken: refresh,
      scope: accessToken.scope || undefined,
      tokenType: accessToken.tokenType,
    });
  };
  provider.registerGrantType(
    plugin.grantType,
    handler,
    [...plugin.parameters, 'scope', 'audience', 'resource'],
    ['resource'],
  );
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
  source: { amr: string[] | undefined; authTime: number },
  openid: string[],
): Promise<string> {
  const claims = await ctx.oidc.account!.claims('id_token', openid.join(' '), {}, []);
  const token = new provider.IdToken({ ...claims, amr: source.amr, auth_time: source.authTime }, { ctx });
  // Missing in the typings; the library sets them whenever it makes an ID token.
  Object.assign(token, { scope: openid.join(' '), mask: {}, rejected: [] });
  return token.issue({ use: 'idtoken' });
}
