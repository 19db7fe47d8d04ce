/** Machine to machine: oidc-provider's own handler, with Auth0's scope rules before it. */
import { errors, type Provider } from 'oidc-provider';
import { aroundGrant, grantKit } from '../provider-seam.ts';

/**
 * Without `scope` a machine gets all that its client grant allows; asking for more is invalid_scope, never narrowed silently.
 */
export function registerClientCredentials(provider: Provider): void {
  aroundGrant(provider, 'client_credentials', ['audience', 'resource'], async (ctx, handle) => {
    const [server] = await grantKit.resolveRequestedResources(provider, ctx as never);
    const params = ctx.oidc.params as { scope?: string };
    if (!server) return handle();
    const allowed = (server.scope ?? '').split(' ').filter(Boolean);
    if (!params.scope) {
      if (allowed.length > 0) params.scope = allowed.join(' ');
      return handle();
    }
    const refused = params.scope.split(' ').filter((scope) => !allowed.includes(scope));
    if (refused.length > 0)
      throw new errors.InvalidScope(`client has not been granted scopes: ${refused.join(' ')}`, refused.join(' '));
    return handle();
  });
}
