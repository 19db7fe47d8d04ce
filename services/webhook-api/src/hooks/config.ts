/**
 * A hook's `config` and our own settings beside it: what clients send, what we store, and how one becomes the other
 * (docs/reference/webhooks-api.md).
 */
import { z } from 'zod';
import { ours } from '../http/operation.ts';
import { readUrl } from './credentials.ts';
import { mask } from './mask.ts';
import { keptHeaders } from './origin.ts';
import { refuse } from './refuse.ts';

/** `config` as clients send it. Unknown keys are ignored. */
export const configInput = z
  .object({
    url: z.string().optional().meta({
      description:
        'Where deliveries go. A user name and password in it are sent as basic authentication; `********` for both in an update keeps them, unless scheme, host or port change',
    }),
    content_type: z.string().optional().meta({ description: '`json` or `form`; default `form`' }),
    secret: z.string().optional().meta({
      description:
        'Signs deliveries; `********` in an update keeps it, and is refused in a new hook; an empty string means no secret',
    }),
    insecure_ssl: z
      .union([z.string(), z.number(), z.boolean()])
      .optional()
      .meta({ description: '`"1"` skips the verification of certificates; default `"0"`' }),
    retry: z
      .string()
      .optional()
      .meta({ ...ours, description: 'Accepted here for one more release: give it beside `config`' }),
    headers: z
      .record(z.string(), z.string())
      .optional()
      .meta({ ...ours, description: 'Accepted here for one more release: give `request_headers` beside `config`' }),
  })
  .meta({ id: 'HookConfigInput' });

export type ConfigInput = z.infer<typeof configInput>;

/** Our own settings, beside `config`: inside it they would break clients that read `config` as a map of strings. */
export const ownInput = {
  retry: z
    .string()
    .optional()
    .meta({ ...ours, description: '`on` or `off`: automatic attempts after a failure; default `on`' }),
  request_headers: z
    .record(z.string(), z.string())
    .optional()
    .meta({
      ...ours,
      description:
        'Up to 20 custom request headers; a value `********` in an update keeps it, unless scheme, host or port of `url` change',
    }),
};

/** Those of our own settings that a body contains. */
export const ownOf = ({ retry, request_headers }: OwnInput): OwnInput => ({
  ...(retry !== undefined && { retry }),
  ...(request_headers !== undefined && { request_headers }),
});

export type OwnInput = { retry?: string | undefined; request_headers?: Record<string, string> | undefined };

/** `config` and our own settings, as stored. */
export type Config = {
  /** Without user name and password. */
  url: string;
  credentials: string | null;
  contentType: 'json' | 'form';
  insecureSsl: boolean;
  secret: string | null;
  retry: boolean;
  headers: Record<string, string>;
};

/**
 * The complete config that `input` describes. Omitted values get their default, except the URL, which every hook needs. `current` supplies the
 * values behind masks, and our own settings if the body does not contain them.
 * @throws ApiError 422.
 */
export function makeConfig(input: ConfigInput, own: OwnInput, current: Config | undefined): Config {
  const read = input.url === undefined && current ? current : readUrl(input.url ?? '', current);
  return {
    url: read.url,
    credentials: read.credentials,
    contentType: readContentType(input.content_type ?? ''),
    insecureSsl: readInsecureSsl(input.insecure_ssl ?? ''),
    secret: readSecret(input.secret ?? '', current),
    ...readOwn(read.url, { retry: input.retry, request_headers: input.headers, ...own }, current),
  };
}

/** `current`, overwritten by the values in `input`. @throws ApiError 422. */
export function mergeConfig(input: ConfigInput, own: OwnInput, current: Config): Config {
  const whole = makeConfig(input, own, current);
  return {
    ...whole,
    contentType: input.content_type === undefined ? current.contentType : whole.contentType,
    insecureSsl: input.insecure_ssl === undefined ? current.insecureSsl : whole.insecureSsl,
    secret: input.secret === undefined ? current.secret : whole.secret,
  };
}

function readOwn(url: string, own: OwnInput, current: Config | undefined): Pick<Config, 'retry' | 'headers'> {
  const kept = current && keptHeaders(url, current);
  return {
    retry: own.retry === undefined ? (current?.retry ?? true) : readRetry(own.retry),
    headers: own.request_headers === undefined ? { ...kept } : readHeaders(own.request_headers, kept),
  };
}

const configMaxBytes = 64 * 1024;

/**
 * Checks the size of a config, because many are held in memory; one that was larger before may keep its size.
 * @throws ApiError 422.
 */
export function checkSize(config: Config, before: Config | undefined): void {
  const bytes = Buffer.byteLength(JSON.stringify(config));
  if (bytes <= configMaxBytes || (before && bytes <= Buffer.byteLength(JSON.stringify(before)))) return;
  throw refuse('config', `config is too large (maximum is ${configMaxBytes} bytes)`);
}

// Terraform sends empty strings for unset values: they mean the defaults.

function readContentType(value: string): Config['contentType'] {
  if (value === 'json') return 'json';
  if (value === 'form' || value === '') return 'form';
  throw refuse('content_type', 'content_type must be json or form');
}

function readInsecureSsl(value: string | number | boolean): boolean {
  const text = String(value);
  if (text === '1' || text === 'true') return true;
  if (text === '0' || text === 'false' || text === '') return false;
  throw refuse('insecure_ssl', 'insecure_ssl must be "0" or "1"');
}

const secretMaxLength = 1024;

function readSecret(value: string, current: Config | undefined): string | null {
  if (current && value === mask) return current.secret;
  // Of a hook copied from GitHub: as a secret everybody would know it.
  if (value === mask) throw refuse('secret', `secret must not be ${mask}, which only stands for one`);
  if (value.length > secretMaxLength)
    throw refuse('secret', `secret is too long (maximum is ${secretMaxLength} characters)`);
  if (!value.isWellFormed()) throw refuse('secret', 'secret is not valid Unicode');
  return value === '' ? null : value;
}

function readRetry(value: string): boolean {
  if (value === 'on' || value === '') return true;
  if (value === 'off') return false;
  throw refuse('retry', 'retry must be "on" or "off"');
}

const headersMax = 20;
const headerValueMaxLength = 4096;
// Headers that we set ourselves, that would change where or how we connect, or that are hop-by-hop (RFC 9110 section 7.6.1).
const forbiddenHeaders = new Set(
  `accept accept-encoding connection content-encoding content-length content-type date expect forwarded host keep-alive te
   trailer trailers transfer-encoding upgrade user-agent via http2-settings`.split(/\s+/),
);
const forbiddenPrefixes = ['x-github-', 'x-hub-', 'webhook-', 'proxy-', 'x-forwarded-'];

type Headers = Readonly<Record<string, string>>;

/** `kept` supplies the values behind masks; undefined for a new hook, which has none to keep. */
function readHeaders(given: Headers, kept: Headers | undefined): Record<string, string> {
  const entries = Object.entries(given);
  if (entries.length > headersMax)
    throw refuse('request_headers', `request_headers must not be more than ${headersMax}`);
  const names = new Set(entries.map(([name]) => name.toLowerCase()));
  if (names.size < entries.length) throw refuse('request_headers', 'request_headers must not repeat a name');
  const values = new Map(Object.entries(kept ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      checkHeaderName(name);
      if (value !== mask) return [[name, readHeaderValue(name, value)]];
      // Of a hook copied from here: its receiver would get the mask itself.
      if (!kept)
        throw refuse('request_headers', `request_headers must not hold ${mask}, which only stands for a value`);
      const keptValue = values.get(name.toLowerCase());
      return keptValue === undefined ? [] : [[name, keptValue]];
    }),
  );
}

function checkHeaderName(name: string): void {
  const lower = name.toLowerCase();
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(name))
    throw refuse('request_headers', 'request_headers must have valid names');
  if (forbiddenHeaders.has(lower) || forbiddenPrefixes.some((prefix) => lower.startsWith(prefix)))
    throw refuse('request_headers', `request_headers must not contain ${name}`);
}

function readHeaderValue(name: string, value: string): string {
  if (value.length > headerValueMaxLength || !/^[\t\x20-\x7e]*$/.test(value))
    throw refuse('request_headers', `request_headers must hold printable ASCII: ${name}`);
  return value.trim();
}
