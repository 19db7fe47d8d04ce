/** Fills quick starts in for one application: the code shown is the code tested, with other names. */
import { originOf } from './origin.ts';
import type { QuickStart } from './quick-starts.ts';

type Place = {
  /** Where the application runs, from its first callback; undefined: as in the example. */
  home: string | undefined;
  callback: string | undefined;
};

/** `missing`: the callback that the code needs and the application lacks. */
export function placeOf(start: QuickStart, callbacks: string[]): Place & { missing: string | undefined } {
  const isProgram = start.home !== '' && new URL(start.home).port === '';
  // A program on somebody's computer opens a port of its own, which the gate leaves open (RFC 8252 section 7.3).
  const usable = isProgram ? callbacks.flatMap((url) => withoutPort(url) ?? []) : callbacks;
  const [first] = usable;
  const home = first === undefined ? undefined : originOf(first);
  const callback = first && URL.parse(first)?.pathname;
  const path = start.namesCallback && callback ? callback : start.callback;
  const needed = start.home === '' ? undefined : `${home ?? start.home}${path}`;
  return { home, callback, missing: needed !== undefined && usable.includes(needed) ? undefined : needed };
}

/** undefined where no program can listen. */
function withoutPort(url: string): string | undefined {
  const [, host, path] = /^(http:\/\/(?:localhost|127\.0\.0\.1))(?::\d+)?(\/.*)$/.exec(url) ?? [];
  return host && `${host}${path}`;
}

export type Filling = Place & {
  issuer: string;
  clientId: string;
  /** undefined: leaves a placeholder for it. */
  secret: string | undefined;
  /** The API that it calls; undefined: as in the example. */
  api: { identifier: string; scopes: string[] } | undefined;
};

export function fillIn(start: QuickStart, code: string, { issuer, clientId, secret, ...filling }: Filling): string {
  const replaced = [
    // Short texts first: they could be part of what is filled in later.
    ...placed(start, filling),
    // For https, the Next.js SDK takes only a host.
    ...(issuer.startsWith('https:') && start.name === 'Next.js'
      ? [[/ {2}domain: .*\n {2}allowInsecureRequests: true,\n/, `  domain: '${new URL(issuer).host}',\n`] as const]
      : []),
    [/http:\/\/localhost:4400\//g, issuer] as const,
    [/http:\/\/localhost:4400/g, issuer.replace(/\/$/, '')] as const,
    ...apiOf(filling),
    [new RegExp(`${start.clientId}-secret`, 'g'), secret ?? 'YOUR_CLIENT_SECRET'] as const,
    [new RegExp(start.clientId, 'g'), clientId] as const,
  ];
  return replaced.reduce((text, [from, to]) => text.replace(from, () => to), code);
}

type Replaced = readonly (readonly [from: RegExp, to: string])[];

function placed(start: QuickStart, { home, callback }: Place): Replaced {
  if (home === undefined || start.home === '') return [];
  const { port } = new URL(start.home);
  const given = new URL(home).port;
  return [
    [new RegExp(start.home, 'g'), home],
    [/http:\/\/localhost:\$\{port\}/g, home],
    ...(port !== '' && given !== '' ? [[new RegExp(`\\b${port}\\b`, 'g'), given] as const] : []),
    ...(callback && start.namesCallback
      ? [[new RegExp(`(?<=["'} ])${start.callback}(?=["'])`, 'g'), callback] as const]
      : []),
  ];
}

/** Keeps the example's scope if the API has it. */
function apiOf({ api }: Pick<Filling, 'api'>): Replaced {
  if (api === undefined) return [];
  const scopeFor = (scope: string) => (api.scopes.includes(scope) ? scope : (api.scopes[0] ?? 'openid'));
  return [
    ...called(api.identifier),
    [/audience: 'http:\/\/localhost:4500\/'/g, `audience: '${api.identifier}'`],
    [/https:\/\/api\.example\//g, api.identifier],
    ...['read:repo_hook', 'read:things'].map((scope) => [new RegExp(scope, 'g'), scopeFor(scope)] as const),
  ];
}

/** Our own API is called as in the example, another one where it says that it is. */
function called(identifier: string): Replaced {
  if (identifier === 'http://localhost:4500/') return [];
  return [
    [/http:\/\/localhost:4500\/repos\/acme\/widgets\/hooks/g, originOf(identifier) ? identifier : 'YOUR_API_URL'],
    [/List the hooks of acme\/widgets/g, 'Call the API'],
    [/Calls the webhook API/g, 'Calls the API'],
  ];
}
