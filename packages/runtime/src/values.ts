/** The kinds of value that our variables have. Each takes the variable's text and returns the typed value. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { splitUrls } from './urls.ts';

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
export const key32 = z.string().transform((value, context) => {
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

/** Whole numbers of seconds, each up to `max`. */
export const secondsList = (max: number) =>
  listOf(`whole numbers of seconds up to ${max}`, (item) =>
    /^\d+$/.test(item) && Number(item) <= max ? [Number(item)] : [],
  );

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
