/** Machine to machine: oidc-provider’s own handler, preceded by Auth0’s scope rules. */
import { errors, type Provider } from 'oidc-provider';
import type { CredentialsExchange } from '../../actions/credentials-exchange.ts';
import { audienceOf, requestedAudience } from '../../resources/audience.ts';
import { grantKit, wrapGrant } from '../seam.ts';

/**
 * Without `scope` a machine gets all that its client grant allows; asking for more is invalid_scope, never narrowed silently.
 */
export function registerClientCredentials(provider: Provider, actions: CredentialsExchange): void {
  wrapGrant(provider, 'client_credentials', ['audience', 'resource', 'organization'], async (ctx, handle) => {
    // RFC 6749 section 4.4: for confidential clients only. Anybody who knows a public client’s name can pose as it.
    if (ctx.oidc.client!.clientAuthMethod === 'none')
      throw new errors.UnauthorizedClient('a public client has no credentials of its own');
    const params = ctx.oidc.params as { scope?: string; organization?: string };
    if (params.organization) throw new errors.InvalidRequest('machines get no tokens for an organization');
    const [server] = await grantKit.resolveRequestedResources(provider, ctx);
    // `userinfo` as the audience asks for an opaque token (Auth0).
    if (!server && requestedAudience(ctx) === undefined) throw new NoAudience();
    if (!server) return handle();
    const { granted, refused } = grantedScopes(server, params.scope);
    if (refused.length > 0)
      throw new errors.InvalidScope(`client has not been granted scopes: ${refused.join(' ')}`, refused.join(' '));
    if (granted.length > 0) params.scope = granted.join(' ');
    if (await actions.isBound()) await actions.run(ctx, { audience: audienceOf(server.identifier()), scopes: granted });
    return handle();
  });
}

/** Auth0's refusal, with its status. The library would issue an opaque token, which is useless to a machine. */
class NoAudience extends errors.AccessDenied {
  constructor() {
    super('No audience parameter was provided, and no default audience has been configured');
    this.statusCode = this.status = 403;
  }
}

/** The requested scopes, or all that the client may have if it requests none; no duplicates. */
export function grantedScopes(server: { scope: string }, wanted?: string): { granted: string[]; refused: string[] } {
  const allowed = server.scope.split(' ').filter(Boolean);
  if (!wanted) return { granted: allowed, refused: [] };
  const asked = [...new Set(wanted.split(' '))];
  return { granted: asked, refused: asked.filter((scope) => !allowed.includes(scope)) };
}
