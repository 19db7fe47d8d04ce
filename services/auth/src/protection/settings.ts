/**
 * What `attack-protection` of the management API sets, in Auth0's words and with its defaults, except that features that used to be
 * off stay off: only the limit on wrong passwords is on, not throttling of addresses, breached passwords or challenges.
 */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { SettingsModel } from '../generated/models.ts';
import { isRecord } from '../is-record.ts';

const isAddress = (text: string) =>
  ipaddr.IPv4.isValidFourPartDecimal(text) ||
  ipaddr.IPv4.isValidCIDRFourPartDecimal(text) ||
  ipaddr.IPv6.isValid(text) ||
  ipaddr.IPv6.isValidCIDR(text);
const allowlist = z.array(z.string().refine(isAddress, 'Not an IP address or a CIDR block')).max(100);
const anyOf = <const Names extends readonly string[]>(...names: Names) =>
  z
    .array(z.enum(names))
    .max(names.length * 2)
    .transform((given) => [...new Set(given)]);
/** A bucket of `max_attempts`, which gains one every `rate` milliseconds. */
const bucket = z
  .strictObject({ max_attempts: z.int().min(1).max(100_000), rate: z.int().min(1).max(86_400_000) })
  .partial();

const shielded = z.strictObject({ shields: anyOf('block', 'admin_notification') }).partial();

const policy = z.enum(['never', 'when_risky', 'always']);

/** The body of each PATCH, by the last part of its path. */
export const shapes = {
  'brute-force-protection': z
    .strictObject({
      enabled: z.boolean(),
      shields: anyOf('block', 'user_notification'),
      mode: z.enum(['count_per_identifier_and_ip', 'count_per_identifier']),
      allowlist,
      max_attempts: z.int().min(1).max(100),
    })
    .partial(),
  'suspicious-ip-throttling': z
    .strictObject({
      enabled: z.boolean(),
      shields: anyOf('block', 'admin_notification'),
      allowlist,
      stage: z
        .strictObject({ 'pre-login': bucket, 'pre-user-registration': bucket, 'pre-custom-token-exchange': bucket })
        .partial(),
    })
    .partial(),
  'bot-detection': z
    .strictObject({
      bot_detection_level: z.enum(['low', 'medium', 'high']),
      challenge_password_policy: policy,
      challenge_passwordless_policy: policy,
      challenge_password_reset_policy: policy,
      allowlist,
      monitoring_mode_enabled: z.boolean(),
    })
    .partial(),
  'breached-password-detection': z
    .strictObject({
      enabled: z.boolean(),
      shields: anyOf('block', 'user_notification', 'admin_notification'),
      admin_notification_frequency: anyOf('immediately', 'daily', 'weekly', 'monthly'),
      method: z.enum(['standard', 'enhanced']),
      stage: z.strictObject({ 'pre-user-registration': shielded, 'pre-change-password': shielded }).partial(),
    })
    .partial(),
};

type Stage = { max_attempts: number; rate: number };
type Policy = z.infer<typeof policy>;
export type Frequency = 'immediately' | 'daily' | 'weekly' | 'monthly';
export type Shield = 'block' | 'user_notification' | 'admin_notification';
export type Protection = {
  'brute-force-protection': {
    enabled: boolean;
    shields: Shield[];
    mode: 'count_per_identifier_and_ip' | 'count_per_identifier';
    allowlist: string[];
    max_attempts: number;
  };
  'suspicious-ip-throttling': {
    enabled: boolean;
    shields: Shield[];
    allowlist: string[];
    stage: { 'pre-login': Stage; 'pre-user-registration': Stage };
  };
  'bot-detection': {
    bot_detection_level: 'low' | 'medium' | 'high';
    /** Of logins and sign-ups. */
    challenge_password_policy: Policy;
    challenge_passwordless_policy: Policy;
    challenge_password_reset_policy: Policy;
    allowlist: string[];
    monitoring_mode_enabled: boolean;
  };
  'breached-password-detection': {
    enabled: boolean;
    /** At a login. */
    shields: Shield[];
    admin_notification_frequency: Frequency[];
    method: 'standard';
    stage: { 'pre-user-registration': { shields: Shield[] }; 'pre-change-password': { shields: Shield[] } };
  };
};
export type ProtectionName = keyof Protection;

const standard: Protection = {
  'brute-force-protection': {
    enabled: true,
    shields: ['block'],
    mode: 'count_per_identifier_and_ip',
    allowlist: [],
    max_attempts: 10,
  },
  'suspicious-ip-throttling': {
    enabled: false,
    shields: [],
    allowlist: [],
    stage: {
      'pre-login': { max_attempts: 100, rate: 864_000 },
      'pre-user-registration': { max_attempts: 50, rate: 1_200 },
    },
  },
  'bot-detection': {
    bot_detection_level: 'low',
    challenge_password_policy: 'never',
    challenge_passwordless_policy: 'never',
    challenge_password_reset_policy: 'never',
    allowlist: [],
    monitoring_mode_enabled: false,
  },
  'breached-password-detection': {
    enabled: false,
    shields: [],
    admin_notification_frequency: [],
    method: 'standard',
    stage: { 'pre-user-registration': { shields: [] }, 'pre-change-password': { shields: [] } },
  },
};

type Row = Pick<SettingsModel, 'attackProtection'>;
/** A row is cached until an administrator changes it, so this is computed once per row. */
const known = new WeakMap<Row, Protection>();

export function protectionOf(row: Row): Protection {
  let found = known.get(row);
  if (!found) {
    found = merged(standard, row.attackProtection) as Protection;
    known.set(row, found);
  }
  return found;
}

/** The row's settings after a PATCH: objects are merged field by field, lists replaced. */
export function changed(row: Row, name: ProtectionName, change: object): Record<string, object> {
  const before = row.attackProtection as Record<string, object>;
  return { ...before, [name]: merged(before[name] ?? {}, change) as object };
}

function merged(before: unknown, change: unknown): unknown {
  if (!isRecord(before) || !isRecord(change)) return change;
  const names = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...before, ...Object.fromEntries(names.map(([name, value]) => [name, merged(before[name], value)])) };
}
