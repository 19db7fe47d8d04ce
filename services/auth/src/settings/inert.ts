/**
 * Fields that Auth0 documents, without effect here (management/inert-fields.ts). They are stored as given, so that a tool finds what it wrote.
 * Secret ones are sealed, and shown only to callers who may change them.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Seal } from '@gatepost/runtime/seal';
import type { z } from 'zod';
import type { Prisma } from '../database.ts';
import { isRecord } from '../is-record.ts';

export type InertFields = Record<string, z.ZodType>;
type Values = Record<string, unknown>;

const purpose = 'inert field';
/** Auth0's names for them, at any depth. */
const secretNames = new Set([
  'api_key',
  'app_secret',
  'client_secret',
  'configuration',
  'masterkey',
  'password',
  'privateKey',
  'private_key',
  'sasKey',
  'secret',
  'servicePassword',
  'signing_key',
  'signing_secret',
  'storageAccessKey',
  'token',
  'twilio_token',
]);

/**
 * The column after a change: fields in the body are set, null removes, and a default is left out where nothing else was set.
 * Undefined when the body has none of the fields.
 */
export function changeInert(
  fields: InertFields,
  body: Values,
  { seal, before = {}, defaults = {} }: { seal: Seal; before?: Prisma.JsonValue | undefined; defaults?: Values },
): Prisma.InputJsonObject | undefined {
  const isDefault = (name: string, value: unknown) =>
    !Object.hasOwn(before as object, name) && isDeepStrictEqual(withDefaults(defaults[name], value), defaults[name]);
  // Sealed again, an unchanged secret would look different.
  const current = showInert(before, seal, true);
  const given = Object.entries(body).filter(
    ([name, value]) =>
      Object.hasOwn(fields, name) &&
      value !== undefined &&
      !isDefault(name, value) &&
      !isDeepStrictEqual(withDefaults(defaults[name], current[name]), value),
  );
  if (given.length === 0) return undefined;
  const after = { ...(before as object), ...(sealSecrets(Object.fromEntries(given), seal) as object) };
  return Object.fromEntries(Object.entries(after).filter(([, value]) => value !== null)) as Prisma.InputJsonObject;
}

/** An object completed with the other fields of its default. */
function withDefaults(standard: unknown, value: unknown): unknown {
  return isRecord(standard) && isRecord(value) ? { ...standard, ...value } : value;
}

/** Seals the secrets in a value on its way to the database. */
export function sealSecrets(value: unknown, seal: Seal): Prisma.InputJsonValue {
  const sealed = walk(value, (secret) => ({
    $sealed: seal.seal(JSON.stringify(secret), purpose).toString('base64'),
  }));
  return sealed as Prisma.InputJsonValue; // JSON came in
}

/** The stored value, with its secrets or without them. */
export function showInert(stored: Prisma.JsonValue, seal: Seal, withSecrets: boolean): Values {
  return walk(stored, (secret) => {
    if (!withSecrets) return undefined;
    // A value written before secrets were sealed is returned as it is.
    const { $sealed: sealed } = secret as { $sealed?: unknown };
    return typeof sealed === 'string' ? JSON.parse(seal.open(Buffer.from(sealed, 'base64'), purpose)) : secret;
  }) as Values;
}

/** A stored value with its secrets sealed under the current key; unchanged if they already are. */
export function resealSecrets(stored: Prisma.JsonValue, seal: Seal): Prisma.JsonValue {
  return walk(stored, (secret) => {
    const { $sealed: sealed } = secret as { $sealed?: unknown };
    const bytes = typeof sealed === 'string' && seal.reseal(Buffer.from(sealed, 'base64'), purpose);
    return bytes ? { $sealed: bytes.toString('base64') } : secret;
  }) as Prisma.JsonValue;
}

function walk(value: unknown, onSecret: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, onSecret));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    secretNames.has(name) && inner !== null ? onSecret(inner) : walk(inner, onSecret),
  ]);
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}
