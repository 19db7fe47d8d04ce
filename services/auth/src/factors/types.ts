/** The kinds of authentication methods, by the names that Auth0 uses in its three interfaces. */
import type { SettingsModel } from '../generated/models.ts';

/** Names in `authentication-methods` of the management API. */
export const methodTypes = ['totp', 'email', 'phone', 'webauthn-roaming', 'webauthn-platform', 'passkey'] as const;
export type MethodType = (typeof methodTypes)[number];

/** Names in `guardian/factors`. Auth0 factors that are missing here (push, Duo) do not exist in Gatepost. */
export const factorNames = ['otp', 'sms', 'email', 'webauthn-roaming', 'webauthn-platform', 'recovery-code'] as const;
export type FactorName = (typeof factorNames)[number];

/** What may be asked for beside a password, in order of preference. A passkey is a sign-in of its own. */
export const secondFactors = ['webauthn-platform', 'webauthn-roaming', 'totp', 'phone', 'email'] as const;
export type SecondFactor = (typeof secondFactors)[number];

/** Whether one of somebody's method types is a second factor. */
export const hasSecondFactor = (factors: readonly string[]): boolean =>
  secondFactors.some((type) => factors.includes(type));

const nameOf: Record<SecondFactor, FactorName> = {
  totp: 'otp',
  phone: 'sms',
  email: 'email',
  'webauthn-roaming': 'webauthn-roaming',
  'webauthn-platform': 'webauthn-platform',
};

export const factorNameOf = (type: MethodType): FactorName | 'passkey' => (type === 'passkey' ? type : nameOf[type]);

/** How a code is sent, by its name for people and in Auth0's API. */
export const channelOf = (type: 'email' | 'phone') => (type === 'phone' ? ('sms' as const) : ('email' as const));

/** When people are asked: never, if they have enrolled a factor, or always; and whenever a request’s `acr_values` asks for it. */
export const mfaPolicies = ['never', 'enrolled', 'always'] as const;
export type MfaPolicy = (typeof mfaPolicies)[number];

/** Nothing is offered until an administrator enables it; recovery codes come with any factor. */
const standard: Record<FactorName, boolean> = {
  otp: false,
  sms: false,
  email: false,
  'webauthn-roaming': false,
  'webauthn-platform': false,
  'recovery-code': true,
};

export type MfaSettings = { policy: MfaPolicy; factors: Record<FactorName, boolean> };

/** By the stored settings object, which stays the same while it is cached. */
const known = new WeakMap<object, Readonly<MfaSettings>>();

export function mfaSettingsOf({ mfa }: Pick<SettingsModel, 'mfa'>): Readonly<MfaSettings> {
  const stored = mfa as Partial<MfaSettings>;
  let settings = known.get(stored);
  if (settings === undefined) {
    const { policy = 'enrolled', factors } = stored;
    settings = { policy, factors: { ...standard, ...factors } };
    known.set(stored, settings);
  }
  return settings;
}

export function isEnabled({ factors }: MfaSettings, type: SecondFactor): boolean {
  return factors[nameOf[type]];
}
