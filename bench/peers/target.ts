/**
 * A target of `npm run bench -- peers`: its name, what counts as its CPU, and how it is asked. A JSON file (bench/peers/targets) in whose texts
 * `{{name}}` stands for a value: `{{env.NAME}}` from our environment, `{{receiver}}` the URL for deliveries, values taken by an earlier `setup`
 * request, and values set by the row (`{{id}}`, `{{now}}`, `{{code}}`, `{{access_token}}` and so on). A member `"{{payload}}"` becomes the
 * message: an object of 2 KB, by which the receiver recognizes it.
 */
import { readFileSync } from 'node:fs';
import type { Parts } from './cost.ts';

export type Ask = {
  /** Default GET, or POST with a body. */
  method?: string;
  url: string;
  headers?: Record<string, string>;
  /** At most one of three bodies. */
  json?: unknown;
  form?: Record<string, string>;
  text?: string;
};

/** The values to keep from its JSON answer, and their paths: `{ "hook": "data.id" }`. */
export type SetupAsk = Ask & { take?: Record<string, string> };

export type Message = {
  url: string;
  exchange: string;
  routingKey: string;
  /** In amqplib's form. */
  properties?: Record<string, unknown>;
  json: unknown;
};

export type CodeFlow = {
  /** The authorization request. PKCE: `{{challenge}}`; S256. */
  authorize: string;
  /** Values for the forms that come before the code, whichever they are. */
  fill: Record<string, string>;
  /** The token request, with `{{code}}` and `{{verifier}}`. */
  exchange: Ask;
  /** With `{{refresh_token}}`. */
  refresh?: Ask;
};

export type Target = {
  name: string;
  about?: string;
  /** Sent once beforehand, in this order: creates the subscription. */
  setup?: SetupAsk[];
  /** One of two ways to publish. */
  post?: { parts: Parts; http: Ask } | { parts: Parts; amqp: Message };
  gate?: {
    parts: Parts;
    clientCredentials?: Ask;
    code?: CodeFlow;
    /** With `{{access_token}}`: from the code flow, or else from the client credentials. */
    userinfo?: Ask;
    introspection?: Ask;
  };
};

export type Values = Record<string, string>;

/** @throws if it is not JSON, has no name, or names no processes */
export function readTarget(file: string): Target {
  const target = JSON.parse(readFileSync(file, 'utf8')) as Partial<Target>;
  const { name, post, gate } = target;
  if (!name || !(post ?? gate) || [post, gate].some((side) => side && !side.parts))
    throw new Error(`${file}: a target has a name, and post or gate, each with its parts`);
  return target as Target;
}

/** Fills in values; names without a value stay as they are, for a later step. */
export function fill<T>(template: T, values: Values): T {
  const text = JSON.stringify(template)
    .replaceAll(/"\{\{(payload)\}\}"/g, (whole, name: string) => values[name] ?? whole)
    .replaceAll(/\{\{([\w.]+)\}\}/g, (whole, name: string) => {
      const value = name.startsWith('env.') ? process.env[name.slice(4)] : values[name];
      return value === undefined ? whole : JSON.stringify(value).slice(1, -1);
    });
  return JSON.parse(text) as T;
}

/** The final request. @throws for a value that nobody has set */
export function render(ask: Ask): { method: string; url: string; headers: Record<string, string>; body?: string } {
  const { method, url, headers = {}, json, form, text } = ask;
  const [type, body] =
    json !== undefined
      ? ['application/json', JSON.stringify(json)]
      : form
        ? ['application/x-www-form-urlencoded', new URLSearchParams(form).toString()]
        : [undefined, text];
  const missing = /\{\{[\w.]+\}\}/.exec(`${url} ${Object.values(headers).join(' ')} ${body ?? ''}`);
  if (missing) throw new Error(`${url}: nothing stands for ${missing[0]}`);
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    url,
    headers: { 'user-agent': 'bench', ...(type && { 'content-type': type }), ...headers },
    ...(body !== undefined && { body }),
  };
}

/** Sends each in turn; resolves to the values taken. @throws when one is not answered with 2xx */
export async function setUp(target: Target, values: Values): Promise<Values> {
  let taken = values;
  for (const ask of target.setup ?? []) {
    const { url, ...init } = render(fill(ask, taken));
    const response = await fetch(url, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${target.name}: ${url} answered ${response.status} ${text.slice(0, 300)}`);
    for (const [name, path] of Object.entries(ask.take ?? {}))
      taken = { ...taken, [name]: String(path.split('.').reduce((at, key) => at?.[key], JSON.parse(text))) };
  }
  return taken;
}
