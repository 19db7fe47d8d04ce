/** Decides whether a login needs a second factor, and of which kinds; for pages, grants and sessions alike. */
import {
  isEnabled,
  type MethodType,
  type MfaPolicy,
  type MfaSettings,
  type SecondFactor,
  secondFactors,
} from './types.ts';

/** The `acr` of a sign-in with one factor (interaction/acr.ts). */
export const signInAcr = '1';

/** Auth0’s name for a sign-in with several factors. */
export const multiFactorAcr = 'http://schemas.openid.net/pape/policies/2007/06/multi-factor';

export type SecondFactorDue =
  | { kind: 'none' }
  /** One of these types, which the person has. */
  | { kind: 'challenge'; types: SecondFactor[] }
  /** The person has none yet, and sets up one of these. */
  | { kind: 'enrolment'; types: SecondFactor[] };

export function secondFactorDue(given: {
  settings: MfaSettings;
  /** The client’s own policy, which takes precedence over the tenant’s. */
  policy: MfaPolicy | null | undefined;
  /** The types of the account’s methods. */
  factors: readonly string[];
  /** The request asks for it, whatever the policy is. */
  demanded: boolean;
}): SecondFactorDue {
  const { settings, demanded } = given;
  const policy = given.policy ?? settings.policy;
  // Each authorization request asks this twice, and most people have no factors.
  if (given.factors.length === 0 && !demanded && policy !== 'always') return { kind: 'none' };
  const enabled = secondFactors.filter((type) => isEnabled(settings, type));
  const types = enabled.filter((type) => given.factors.includes(type));
  if (types.length > 0) return demanded || policy !== 'never' ? { kind: 'challenge', types } : { kind: 'none' };
  return (demanded || policy === 'always') && enabled.length > 0
    ? { kind: 'enrolment', types: enabled }
    : { kind: 'none' };
}

/**
 * Whether somebody who is setting up a first factor has one by now, of a type that could be set up then (`types`) or can be now. One that is
 * switched off does not count: its owner, too, is asked to set up another.
 */
export function hasFirstFactor(
  settings: MfaSettings,
  { types }: { types: readonly MethodType[] },
  factors: readonly string[],
): boolean {
  return secondFactors.some((type) => factors.includes(type) && (isEnabled(settings, type) || types.includes(type)));
}

/** Whether anybody could prove a second factor here. */
export function offersSecondFactors(settings: MfaSettings): boolean {
  return secondFactors.some((type) => isEnabled(settings, type));
}

type AcrRequest = { essential?: boolean; value?: unknown; values?: unknown } | null | undefined;

/** Whether an authorization request asks for several factors: by `acr_values`, or by the claim `acr` of its ID token (Core 5.5.1.1). */
export function demandsMultiFactor(params: Record<string, unknown>): boolean {
  if (typeof params.acr_values === 'string' && params.acr_values.split(' ').includes(multiFactorAcr)) return true;
  return wantedAcrs(acrRequestOf(params.claims)).includes(multiFactorAcr);
}

/** The values one of which must be reached; empty if any value will do. */
export function essentialAcrs(request: AcrRequest): unknown[] {
  return request?.essential ? wantedAcrs(request) : [];
}

function wantedAcrs(request: AcrRequest): unknown[] {
  if (request?.value !== undefined) return [request.value];
  return Array.isArray(request?.values) ? request.values : [];
}

function acrRequestOf(claims: unknown): AcrRequest {
  try {
    const parsed = (typeof claims === 'string' ? JSON.parse(claims) : claims) as { id_token?: { acr?: AcrRequest } };
    return parsed?.id_token?.acr;
  } catch {
    return undefined; // the library has already refused it
  }
}

/** True for a session with both factors, and for one where a remembered browser was spared the second. */
export function isMultiFactor(amr: readonly string[] | undefined): boolean {
  return amr?.includes('mfa') === true;
}
