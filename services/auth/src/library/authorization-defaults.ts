/** What Auth0 assumes where OpenID demands: runs before the library looks at an authorization request. */
import type { Provider } from 'oidc-provider';

export function applyAuthorizationDefaults(provider: Provider): void {
  provider.use(async (ctx, next) => {
    if (ctx.method === 'GET' && /^\/authorize\/?$/i.test(ctx.path)) {
      // Koa caches the parsed query; changing that object changes what the library reads, assigning it would rewrite the URL.
      const { query } = ctx;
      const bare = !query.request && !query.request_uri;
      if (bare && !query.scope) query.scope = 'openid profile email';
      // auth0-js sends a nonce with response_type=token too, where it means nothing without openid.
      const scopes = String(query.scope ?? '').split(' ');
      if (bare && query.response_type === 'token' && !scopes.includes('openid')) delete query.nonce;
    }
    await next();
  });
}
