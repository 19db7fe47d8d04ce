/**
 * Reading the environment: every service describes its variables as one zod object, reads them once at start, and hears
 * of all bad values together, before anything is opened. The same objects make `docs/configuration.md`.
 */
import { existsSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** Thrown by `readEnv`; `problems` holds one line a bad variable, ready to print. */
export class BadEnvironment extends Error {
  override name = 'BadEnvironment';
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`bad environment:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * Parses `env` by `schema`. An empty variable counts as unset, unless its meta says `emptyIsValue`.
 * @throws BadEnvironment naming every bad variable at once. A secret's value never stands in the message.
 */
export function readEnv<S extends z.ZodObject>(
  schema: S,
  env: Record<string, string | undefined> = process.env,
): z.infer<S> {
  const given: Record<string, string> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = env[name];
    if (value !== undefined && (value !== '' || metaOf(field).emptyIsValue)) given[name] = value;
  }
  const result = schema.safeParse(given);
  if (result.success) {
    Object.freeze(result.data);
    return result.data;
  }
  throw new BadEnvironment(
    result.error.issues.map((issue) => {
      const name = String(issue.path[0] ?? '');
      const field = schema.shape[name];
      if (given[name] === undefined) return `${name} is not set; ${field ? (metaOf(field).description ?? '') : ''}`;
      const shown = field && metaOf(field).secret ? '' : ` (it is ${JSON.stringify(given[name])})`;
      return `${name}: ${issue.message}${shown}`;
    }),
  );
}

/** What the start-up log shows of a configuration: secrets only as `configured`, passwords in URLs masked. */
export function describeEnv<S extends z.ZodObject>(schema: S, values: z.infer<S>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const field = schema.shape[name];
      if (field && metaOf(field).secret) return [name, { configured: value !== undefined }];
      if (typeof value === 'string') return [name, maskPassword(value)];
      return [name, value];
    }),
  );
}

/** A URL without its password; anything else as it is. */
export function maskPassword(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/[^:@/]*):[^@/]*@/i, '$1:********@');
}

/** What `docs/configuration.md` shows of a variable. */
export type VariableMeta = {
  description?: string;
  unit?: string;
  secret?: boolean;
  emptyIsValue?: boolean;
  shownDefault?: string;
};

export function metaOf(field: unknown): VariableMeta {
  let current = field as z.ZodType | undefined;
  while (current) {
    const meta = current.meta() as VariableMeta | undefined;
    if (meta) return meta;
    const inner = current.def as { innerType?: z.ZodType; in?: z.ZodType };
    current = inner.innerType ?? inner.in;
  }
  return {};
}

// The kinds of value our variables have. Each takes the variable's text and gives the typed value.

export const text = z.string().trim().min(1);

/** A whole number between `min` and `max`. */
export const integer = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.string().transform((value, context) => {
    const number = Number(value);
    if (/^-?\d+$/.test(value.trim()) && number >= min && number <= max) return number;
    context.addIssue({ code: 'custom', message: `must be a whole number from ${min} to ${max}` });
    return z.NEVER;
  });

/** A number greater than zero. */
export const positive = z.string().transform((value, context) => {
  const number = Number(value);
  if (value.trim() !== '' && Number.isFinite(number) && number > 0) return number;
  context.addIssue({ code: 'custom', message: 'must be a number greater than 0' });
  return z.NEVER;
});

export const port = integer(0, 65535);

/** An absolute URL of one of the given schemes (`['http:', 'https:']`), kept as text. */
export const url = (protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL starting with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });

export const httpUrl = url(['http:', 'https:']);

/** The gate's issuer: an http(s) URL with a trailing slash and neither query nor fragment. */
export const issuerUrl = httpUrl.refine((value) => value.endsWith('/') && !/[?#]/.test(value), {
  message: 'must end in a slash and have no query or fragment',
});

/** 32 bytes in base64. */
export const key32 = z.string().transform((value, context) => {
  const key = Buffer.from(value, 'base64');
  if (/^[A-Za-z0-9+/]{43}=?$/.test(value.trim()) && key.length === 32) return key;
  context.addIssue({ code: 'custom', message: 'must be 32 bytes in base64; `openssl rand -base64 32` makes one' });
  return z.NEVER;
});

/** Comma-separated CIDRs, as text; empty is none. */
export const cidrList = z.string().transform((value, context) => {
  const items = splitList(value);
  const bad = items.filter((item) => !isCidr(item));
  if (bad.length === 0) return items;
  context.addIssue({ code: 'custom', message: `not a CIDR: ${bad.join(', ')}` });
  return z.NEVER;
});

// The library by itself also takes the old short forms (10.0/8), which nobody means.
const isCidr = (text: string) => ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text);

/** Comma-separated whole numbers of seconds; empty is none. */
export const secondsList = z.string().transform((value, context) => {
  const items = splitList(value);
  const bad = items.filter((item) => !/^\d+$/.test(item));
  if (bad.length === 0) return items.map(Number);
  context.addIssue({ code: 'custom', message: `not a whole number of seconds: ${bad.join(', ')}` });
  return z.NEVER;
});

/** The path of a file that exists. */
export const existingFile = text.refine((value) => existsSync(value), { message: 'no such file' });

function splitList(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

// What every one of our processes reads.

export const commonVariables = {
  NODE_ENV: z
    .enum(['production', 'development', 'test'])
    .default('development')
    .meta({ description: 'Node environment' }),
  HOST: text.default('127.0.0.1').meta({ description: 'address that listeners bind to; `0.0.0.0` in the images' }),
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta({ description: 'least level that is logged' }),
};

export const secretsKeyVariable = key32.meta({
  description: '32 bytes base64: encrypts webhook secrets and signing keys at rest',
  secret: true,
  shownDefault: 'generated under `.gatepost/` by `npm start`, required otherwise',
});

export { z };
