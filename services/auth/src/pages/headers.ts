/** The headers of a hosted page. */
import { isLoopback } from '../http/loopback.ts';
import { type Inline, scripts } from './assets.ts';

/** A page's needs beyond the strict defaults. */
export type PolicyNeeds = {
  script: keyof typeof scripts;
  locale: string;
  /** Where its form may lead: the application's redirect URI, as given in the request. */
  redirectUri?: string | undefined;
  /** The page's own styles, each allowed by its hash. */
  styles: Inline[];
  /** The external images and the font that it shows. */
  pictures?: (string | undefined)[];
  fontUrl?: string | undefined;
  /** The one origin that may frame it (web_message). */
  framedBy?: string | undefined;
  /** The page uses a tenant’s template: its styles carry this nonce, and it may load external images and fonts. */
  nonce?: string | undefined;
};

/**
 * Nothing is cached (RFC 6749 5.1), no URL leaks by Referer (RFC 9700 4.2), and only our own scripts run. There is no
 * Cross-Origin-Opener-Policy: it would cut off the popup of `loginWithPopup` from its opener.
 */
export function pageHeaders(needs: PolicyNeeds): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-language': needs.locale,
    'content-security-policy': policy(needs),
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
    ...(needs.framedBy === undefined && { 'x-frame-options': 'DENY' }),
  };
}

function policy({ script, styles, redirectUri, pictures = [], fontUrl, framedBy, nonce }: PolicyNeeds): string {
  const own = nonce === undefined;
  const fonts = [...(own ? [] : ["'self' data: https:"]), ...originsOf([fontUrl])];
  return [
    "default-src 'none'",
    `script-src ${scripts[script].source}`,
    ['style-src', ...styles.map(({ source }) => source), ...(own ? [] : [`'nonce-${nonce}'`])].join(' '),
    ["img-src 'self' data:", ...(own ? [] : ['https:']), ...originsOf(pictures)].join(' '),
    ...(fonts.length > 0 ? [`font-src ${fonts.join(' ')}`] : []),
    `form-action ${formTargets(redirectUri)}`,
    "base-uri 'none'",
    `frame-ancestors ${framedBy ?? "'none'"}`,
  ].join('; ');
}

function originsOf(urls: (string | undefined)[]): Set<string> {
  return new Set(urls.flatMap((url) => URL.parse(url ?? '')?.origin ?? []));
}

/**
 * Chromium applies `form-action` to every redirect that follows a form’s POST: ours to the application’s callback, and the
 * callback’s own to wherever the application continues, which we cannot know. Hence any https URL is allowed, and any port for an
 * application on the developer’s machine, but no other plain http host, and no scheme but the application’s. An IPv6 address
 * (RFC 8252 section 7.3) is no source that CSP knows, and Chromium would ignore it, so its whole scheme is allowed.
 */
function formTargets(redirectUri: string | undefined): string {
  const targets = ["'self'", 'https:'];
  const url = redirectUri === undefined ? null : URL.parse(redirectUri);
  if (url === null) return targets.join(' ');
  if (url.protocol === 'http:' && !url.hostname.startsWith('[')) targets.push(url.origin);
  else if (url.protocol !== 'https:') targets.push(url.protocol);
  if (isLoopback(url)) targets.push('http://localhost:*', 'http://127.0.0.1:*');
  return targets.join(' ');
}
