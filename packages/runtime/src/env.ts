/**
 * Reading the environment: every service describes its variables as one zod object, reads them once at start, and reports all bad values
 * together, before opening anything. `docs/configuration.md` is generated from the same objects.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { logLevels } from './log.ts';
import { maskText, maskUrl, unreadable } from './mask.ts';
import { Misconfigured } from './misconfigured.ts';
import { productionProblems } from './production.ts';
import { splitUrls } from './urls.ts';

/**
 * Parses `env` by `schema`. An empty variable counts as unset, unless its meta says `emptyIsValue`. Instead of `NAME`, `NAME_FILE` may name
 * a file that holds the value, as Docker and Kubernetes provide secrets; a single trailing line break is dropped. A check of the
 * whole object concerns several variables: its message is shown as it is.
 * @throws Misconfigured naming every bad variable at once. A bad value is quoted only if it cannot be a secret: otherwise mixing up two
 * variables could put a password into the log.
 */
export function readEnv<S extends z.ZodObject>(
  schema: S,
  env: Record<string, string | undefined> = process.env,
): z.infer<S> {
  const given: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = env[name] || (readValue(name, schema, env, problems) ?? env[name]);
    if (value !== undefined && (value !== '' || metaOf(field).emptyIsValue)) given[name] = value;
  }
  if (problems.length > 0) throw new Misconfigured('bad environment', problems);
  const result = schema.safeParse(given);
  if (result.success) {
    const unsafe = productionProblems(result.data);
    if (unsafe.length > 0) throw new Misconfigured('bad environment', unsafe);
    Object.freeze(result.data);
    return result.data;
  }
  throw new Misconfigured(
    'bad environment',
    result.error.issues.map((issue) => {
      if (issue.path.length === 0) return issue.message;
      const name = String(issue.path[0] ?? '');
      const field = schema.shape[name];
      if (given[name] === undefined) return `${name} is not set; ${field ? (metaOf(field).description ?? '') : ''}`;
      return `${name}: ${issue.message}${shownOf(field, given[name], isOfUrl(issue))}`;
    }),
  );
}

/** The content of the file that `NAME_FILE` names, unless that is a variable of its own (SEED_FILE). */
function readValue(
  name: string,
  schema: z.ZodObject,
  env: Record<string, string | undefined>,
  problems: string[],
): string | undefined {
  const variable = `${name}_FILE`;
  const file = env[variable];
  if (!file || variable in schema.shape) return undefined;
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    problems.push(`${variable}: the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}

const isOfUrl = (issue: z.core.$ZodIssue): boolean => issue.code === 'custom' && issue.params?.isUrlWanted === true;

/**
 * The part of a bad value that may be shown: a masked URL; numbers, networks and a single short word as they are; nothing of anything else.
 */
function shownOf(field: unknown, value: string, isUrlWanted: boolean): string {
  if (metaOf(field).secret) return '';
  const isPlain = /^[\d\s.,:/+-]*$/.test(value) || /^[a-z]{1,8}$/.test(value);
  if (isPlain && !isUrlWanted) return ` (it is ${JSON.stringify(value)})`;
  const masked = maskUrl(value);
  return masked === unreadable ? '' : ` (it is ${JSON.stringify(masked)})`;
}

/** A configuration as shown in the start-up log: secrets only as `configured`, URLs masked. */
export function describeEnv<S extends z.ZodObject>(schema: S, values: z.infer<S>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const field = schema.shape[name];
      if (field && metaOf(field).secret) return [name, { configured: value !== undefined }];
      if (typeof value === 'string') return [name, maskText(value)];
      if (Array.isArray(value)) return [name, value.map((item) => (typeof item === 'string' ? maskText(item) : item))];
      return [name, value];
    }),
  );
}

/** How `docs/configuration.md` presents a variable. */
export type VariableMeta = {
  description?: string;
  unit?: string;
  secret?: boolean;
  emptyIsValue?: boolean;
  shownDefault?: string;
  /** Renamed: refused if still set, and not shown. */
  isGone?: boolean;
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

// The kinds of value our variables have. Each takes the variable's text and returns the typed value.

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
  z.string().refine((value) => protocols.some((protocol) => isUrl(value, protocol)), {
    message: `must be a URL starting with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    abort: true, // further checks may assume a URL
    params: { isUrlWanted: true },
  });

/** One or more such URLs, separated by commas, kept as one text. */
export const urls = (protocols: string[]) =>
  z.string().refine((value) => splitUrls(value).every((one) => protocols.some((protocol) => isUrl(one, protocol))), {
    message: `must be a URL starting with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}, or several separated by commas`,
    abort: true,
    params: { isUrlWanted: true },
  });

// The parser alone would also accept `postgres:gate:secret@db`, as a path without a host.
const isUrl = (value: string, protocol: string) =>
  value.trim().toLowerCase().startsWith(`${protocol}//`) && URL.canParse(value);

export const httpUrl = url(['http:', 'https:']);

/** The gate's issuer: an http(s) URL without query and fragment, compared literally: with and without a trailing slash are two names. */
export const issuerUrl = httpUrl.refine((value) => !/[?#\s]/.test(value), {
  message: 'must have no query or fragment',
});

/** An IP address or a name, without a port. */
export const host = text.refine((value) => isIP(value) !== 0 || /^(?![\d.]+$)[\w.-]{1,253}$/.test(value), {
  message: 'must be an IP address or the name of a host',
});

/** 32 bytes in base64. */
const key32 = z.string().transform((value, context) => {
  const key = Buffer.from(value, 'base64');
  if (/^[A-Za-z0-9+/]{43}=?$/.test(value.trim()) && key.length === 32) return key;
  context.addIssue({ code: 'custom', message: 'must be 32 bytes in base64; `openssl rand -base64 32` makes one' });
  return z.NEVER;
});

const itemsOf = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** Any texts, separated by commas. */
export const textList = z.string().transform(itemsOf);

/** Comma-separated items, each yielding any number of values; an empty text is an empty list. */
const listOf = <T>(wanted: string, valuesOf: (item: string) => T[]) =>
  z.string().transform((value, context) => {
    const items = itemsOf(value);
    const bad = items.filter((item) => valuesOf(item).length === 0);
    if (bad.length === 0) return items.flatMap(valuesOf);
    context.addIssue({
      code: 'custom',
      message: `must be ${wanted}, separated by commas; ${positionsOf(bad, items)}`,
    });
    return z.NEVER;
  });

// The library alone would also accept old short forms (10.0/8), which nobody means.
const isCidr = (text: string) => ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text);

/** CIDRs, as text. */
export const cidrList = listOf('CIDRs', (item) => (isCidr(item) ? [item] : []));

/** Host names, `*.` and a name for everything below it, or `*`. */
export const hostList = listOf('names of hosts, `*.` and a name, or `*`', (item) =>
  /^(?:\*|(?:\*\.)?[a-z0-9.-]+)$/.test(item) ? [item] : [],
);

const namedNetworks = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

/** CIDRs as text; an address or one of Express's network names also counts. */
export const networkList = listOf(
  'CIDRs, addresses, `loopback`, `linklocal` or `uniquelocal`',
  (item) => namedNetworks.get(item) ?? [item, `${item}/${isIP(item) === 4 ? 32 : 128}`].filter(isCidr),
);

/** Issuers, compared literally. */
export const issuerUrls = listOf('issuers (http or https URLs)', (item) =>
  issuerUrl.safeParse(item).success ? [item] : [],
);

/** Whole numbers of seconds. */
export const secondsList = listOf('whole numbers of seconds', (item) => (/^\d+$/.test(item) ? [Number(item)] : []));

/** The path of a file that exists. */
export const existingFile = text.refine((value) => existsSync(value), {
  error: () => `there is no such file, seen from ${process.cwd()}`,
  abort: true, // further checks may read it
});

/** The path of a file with one or more certificates. Node would ignore anything else in it. */
export const certificatesFile = existingFile.refine(hasCertificates, 'must be a PEM file with certificates');

function hasCertificates(path: string): boolean {
  try {
    const ofCertificates = /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?^-----END [^\n]*/gms;
    const blocks = readFileSync(path, 'utf8').match(ofCertificates) ?? [];
    return blocks.map((block) => new X509Certificate(block)).length > 0;
  } catch {
    return false;
  }
}

/** Paths of existing files, separated by commas. A missing one is not quoted: it may be a misplaced secret. */
export const existingFiles = z.string().transform((value, context) => {
  const files = itemsOf(value);
  const missing = files.filter((file) => !existsSync(file));
  if (missing.length === 0) return files;
  const message = `must name files that exist, seen from ${process.cwd()}: ${positionsOf(missing, files)}`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** Names the bad items by position, because a misplaced value may be a secret. */
function positionsOf(bad: string[], items: string[]): string {
  const positions = bad.map((item) => items.indexOf(item) + 1).join(', ');
  return bad.length === 1 ? `item ${positions} is none` : `items ${positions} are none`;
}

// Variables that all our processes read.

export const commonVariables = {
  NODE_ENV: z.enum(['production', 'development', 'test']).default('development').meta({
    description:
      'in `production`, as in the images, a service refuses to start with the demo’s seed or its secrets, an http issuer that is not loopback, or, unless `HOST` is loopback, a store’s default password',
  }),
  HOST: host.default('127.0.0.1').meta({ description: 'address that listeners bind to; `0.0.0.0` in the images' }),
  LOG_LEVEL: z.enum(logLevels).default('info').meta({
    description: 'lowest level that is logged; `PUT /log-level` on the ops port changes it while the service runs',
  }),
  OPS_TOKEN: text.min(16).optional().meta({
    description:
      'the `Authorization: Bearer` token for the ops port’s routes that tell more than metrics or change something; without one, they answer only this machine',
    secret: true,
    shownDefault: 'none',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().meta({
    description: 'where traces go, by OTLP over HTTP; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` are read too',
    shownDefault: 'none: no traces',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: text.optional().meta({
    description: 'headers sent along with traces, such as `authorization=Bearer%20…`; several separated by commas',
    secret: true,
    shownDefault: 'none',
  }),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .meta({ description: 'which traces are recorded' }),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .meta({ description: 'the share of traces that the two samplers by ratio record' }),
  START_TIMEOUT_MS: integer(0, 600_000)
    .default(60_000)
    .meta({ description: 'how long a service waits at its start for a store that is unreachable', unit: 'ms' }),
};

export const stopDelayVariable = integer(0, 60_000).default(0).meta({
  description:
    'how long a service that was told to stop goes on serving while `/readyz` says that it is not ready, so that load balancers have time to leave it',
  unit: 'ms',
});

export const storeTimeoutVariable = integer(100, 60_000).default(4_000).meta({ unit: 'ms' });

export const secretsKeyVariable = key32.meta({
  description: '32 bytes base64: encrypts webhook secrets and signing keys at rest',
  secret: true,
  shownDefault: 'generated under `.gatepost/` by `npm start`, required otherwise',
});

export const otherSecretsKeyVariable = key32.optional().meta({
  description:
    'a second such key, which opens but does not seal, for changing SECRETS_KEY without an interruption (docs/operations.md)',
  secret: true,
  shownDefault: 'none',
});

export const amqpUrlVariable = urls(['amqp:', 'amqps:']).meta({
  description:
    'RabbitMQ (the gate needs it only with `EVENTS_ACCOUNT` or `ORGANIZATION_ACCOUNTS=on`); the nodes of a cluster are separated by commas and tried in random order. `?cacertfile=`, `?certfile=` and `?keyfile=` name PEM files for `amqps`',
  shownDefault: 'found or started',
});

export const redisKeyPrefixVariable = text.default('gatepost:').meta({ description: 'prefix of all our Redis keys' });

export const organizationAccountsVariable = z.enum(['on', 'off']).default('off').meta({
  description:
    'whether an organization of the gate with `gatepost_account: "true"` in its metadata is an account of the webhook API, with its members; set it in both services ([organizations](reference/organization-accounts.md))',
});

export const trustedProxiesVariable = networkList.default([]).meta({
  description:
    'reverse proxies whose `X-Forwarded-*` are trusted, and nobody else’s: CIDRs or addresses, separated by commas (`loopback`, `linklocal`, `uniquelocal` too)',
});

/** A renamed variable. Setting it is refused, since whoever does so relies on it. */
export const renamedTo = (name: string) => z.undefined(`is called ${name} now`).optional().meta({ isGone: true });

export { z };
