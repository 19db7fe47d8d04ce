/**
 * The response modes (docs/reference/gate.md), registered over oidc-provider’s own, which answer with another status or lack our rules. Its
 * modes with a JWT (JARM) stay.
 */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { tooLong } from '../http/parameter-size.ts';
import { formPost } from '../response-modes/form-post.ts';
import { fragment, query } from '../response-modes/redirects.ts';
import { webMessage } from '../response-modes/web-message.ts';
import { changeAnswers } from './middleware.ts';
import { changeResponses, setResponseMode } from './seam.ts';

export type ResponseMode = (
  ctx: KoaContextWithOIDC,
  redirectUri: string,
  response: Record<string, string | number>,
) => void | Promise<void>;

const modes: Record<string, ResponseMode> = { query, fragment, form_post: formPost, web_message: webMessage };

export function registerResponseModes(provider: Provider): void {
  for (const [name, mode] of Object.entries(modes)) setResponseMode(provider, name, mode);
  changeResponses(provider, withoutLongState);
  // RFC 9207 also applies beside an ID token, where the library leaves `iss` out.
  provider.on('authorization.success', (ctx, out) => {
    const response = out as Record<string, unknown> | undefined;
    if (response && !String(ctx.oidc.params?.response_mode ?? '').includes('jwt')) response.iss = provider.issuer;
  });
  changeAnswers(provider, 'discovery', (ctx) => {
    const supported = (ctx.body as { response_modes_supported?: string[] } | undefined)?.response_modes_supported;
    if (!supported?.includes('web_message')) supported?.push('web_message');
  });
}

/** 303 is for answers to a POST (RFC 9700 section 4.12); the library also sends it for a GET that leads to one of our pages. */
export function redirectGetsWith302(provider: Provider): void {
  changeAnswers(provider, 'all', (ctx) => {
    if (ctx.status === 303 && ctx.method !== 'POST') ctx.status = 302;
  });
}

/** A state too long to be stored is refused and not echoed: proxies and clients do not accept headers of 50 kB. */
function withoutLongState({ state, ...response }: Record<string, string | number>): Record<string, string | number> {
  return state === undefined || tooLong({ state }) !== undefined ? response : { ...response, state };
}
