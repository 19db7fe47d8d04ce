/**
 * A target of `npm run bench -- peers`: what it is called, what is counted as its CPU, and how it is asked. A file of JSON (bench/peers/targets),
 * in whose texts `{{name}}` stands for a value: `{{env.NAME}}` of our environment, `{{receiver}}` the URL that deliveries are to go to,
 * what an earlier request of `setup` has taken, and what the row sets (`{{id}}`, `{{now}}`, `{{code}}`, `{{access_token}}` and so on). A member that is
 * `"{{payload}}"` becomes the message: an object of 2 KB, by which the receiver knows it.
 */
import { readFileSync } from 'node:fs';
import type { Parts } from './cost.ts';

export type Ask = {
  /** Default GET, or POST with a body. */
  method?: string;
  url: string;
  headers?: Record<string, string>;
  /** One of three bodies. */
  json?: unknown;
  form?: Record<string, string>;
  text?: string;
};

/** What of its JSON answer is kept, and where it stands there: `{ "hook": "data.id" }`. */
export type SetupAsk = Ask & { take?: Record<string, string> };

export type Message = {
  url: string;
  exchange: string;
  routingKey: string;
  /** As amqplib takes them. */
  properties?: Record<string, unknown>;
  json: unknown;
};

export type CodeFlow = {
  /** The authorization request. PKCE: `{{challenge}}`; S256. */
  authorize: string;
  /** What is filled into the forms that come before the code, whichever they are. */
  fill: Record<string, string>;
  /** The token request, with `{{code}}` and `{{verifier}}`. */
  exchange: Ask;
  /** With `{{refresh_token}}`. */
  refresh?: Ask;
};

export type Target = {
  name: string;
  about?: string;
  /** Asked once before, in this order: makes the subscription. */
  setup?: SetupAsk[];
  /** One of both ways to publish. */
  post?: { parts: Parts; http: Ask } | { parts: Parts; amqp: Message };
  gate?: {
    parts: Parts;
    clientCredentials?: Ask;
    code?: CodeFlow;
    /** With `{{access_token}}`: of the code flow, or of the client credentials where there is none. */
    userinfo?: Ask;
    introspection?: Ask;
  };
};

export type Values = Record<string, string>;

/** @throws when it is no JSON, has no name, or names no processes */
export function readTarget(file: string): Target {
  const target = JSON.parse(readFileSync(file, 'utf8')) as Partial<Target>;
  const { name, post, gate } = target;
  if (!name || !(post ?? gate) || [post, gate].some((side) => side && !side.parts))
    throw new Error(`${file}: a target has a name, and post or gate, each with its parts`);
  return target as Target;
}

/** Puts values in; what has none stays as it is, for a later step. */
export function fill<T>(template: T, values: Values): T {
  const text = JSON.stringify(template)
    .replaceAll(/"\{\{(payload)\}\}"/g, (whole, name: string) => values[name] ?? whole)
    .replaceAll(/\{\{([\w.]+)\}\}/g, (whole, name: string) => {
      const value = name.startsWith('env.') ? process.env[name.slice(4)] : values[name];
      return value === undefined ? whole : JSON.stringify(value).slice(1, -1);
    });
  return JSON.parse(text) as T;
}

/** What goes out. @throws for a value that nobody has set */
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

/** Asks each in turn; resolves to what was taken. @throws when one is not answered with 2xx */
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
