/** Auth0’s defaults where OpenID requires a parameter. Runs before the library reads an authorization request. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { wrapRequests } from './middleware.ts';

export function applyAuthorizationDefaults(provider: Provider): void {
  const isAuthorizationRequest = (ctx: KoaContextWithOIDC) =>
    ctx.method === 'GET' && /^\/authorize\/?$/i.test(ctx.path);
  wrapRequests(provider, isAuthorizationRequest, (ctx, next) => {
    // Koa caches the parsed query; changing that object changes what the library reads, while assigning a new one would rewrite
    // the URL.
    const { query } = ctx;
    const bare = !query.request && !query.request_uri;
    if (bare && !query.scope) query.scope = 'openid profile email';
    // auth0-js sends a nonce with response_type=token too, where it has no meaning without openid.
    const scopes = String(query.scope ?? '').split(' ');
    if (bare && query.response_type === 'token' && !scopes.includes('openid')) delete query.nonce;
    return next();
  });
}
