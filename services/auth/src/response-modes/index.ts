/** The response modes of contract section 4, registered over oidc-provider's own, which differ in status or lack our rules. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { setResponseMode } from '../provider-seam.ts';
import { formPost } from './form-post.ts';
import { fragment, query } from './redirects.ts';
import { webMessage } from './web-message.ts';

export type ResponseMode = (
  ctx: KoaContextWithOIDC,
  redirectUri: string,
  response: Record<string, string | number>,
) => void | Promise<void>;

const modes: Record<string, ResponseMode> = { query, fragment, form_post: formPost, web_message: webMessage };

export function registerResponseModes(provider: Provider): void {
  for (const [name, mode] of Object.entries(modes)) setResponseMode(provider, name, mode);
  // RFC 9207: also beside an ID token, where the library leaves it out.
  provider.on('authorization.success', (ctx, out) => {
    const response = out as Record<string, unknown> | undefined;
    if (response && !String(ctx.oidc.params?.response_mode ?? '').includes('jwt')) response.iss = provider.issuer;
  });
  provider.use(async (ctx, next) => {
    await next();
    const body = ctx.body as { response_modes_supported?: string[] } | undefined;
    if (routeOf(ctx) === 'discovery' && !body?.response_modes_supported?.includes('web_message'))
      body?.response_modes_supported?.push('web_message');
  });
}

function routeOf(ctx: unknown): string | undefined {
  return (ctx as KoaContextWithOIDC).oidc?.route;
}
