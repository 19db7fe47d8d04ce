/** Converts a provider's claims to our profile: bounded, and storable. */
import { isEmail } from '../accounts/identifier.ts';
import { isStorable } from '../http/well-formed.ts';
import type { Remote } from './discovery.ts';
import { UpstreamFailure } from './failure.ts';

type Claims = Record<string, unknown>;

/** The claims a provider returned. */
export type ProviderClaims = { tokenset: Claims; userinfo: Claims };

/** Columns of an account. A claim that is missing becomes null, so that values the provider dropped go away (but see `nameOnce`). */
export type Profile = {
  email: string | null;
  emailVerified: boolean;
  name: string | null;
  givenName: string | null;
  familyName: string | null;
  nickname: string | null;
  picture: string | null;
};

/** The person's id at the provider: required, and usable as part of our own id. */
export function subjectOf(remote: Remote, claims: ProviderClaims): string {
  const all = { ...claims.userinfo, ...claims.tokenset };
  const named = mapped(remote, claims).user_id;
  const id = remote.definition.protocol === 'oidc' ? claims.tokenset.sub : (named ?? all.sub ?? all.id ?? all.user_id);
  const subject = typeof id === 'number' && Number.isSafeInteger(id) ? String(id) : id;
  if (typeof subject !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(subject)) throw new UpstreamFailure('bad_profile');
  return subject;
}

export function profileOf(remote: Remote, claims: ProviderClaims): Profile {
  const own = mapped(remote, claims);
  const all: Claims = { ...claims.userinfo, ...claims.tokenset, ...own };
  // `email_verified` counts only for the address in the same set of claims.
  const source = [own, claims.tokenset, claims.userinfo].find(({ email: address }) => address !== undefined);
  const given = text(all.email, 320)?.toLowerCase();
  const email = given !== undefined && isEmail(given) ? given : null;
  return {
    email,
    emailVerified: email !== null && isProven(remote, source?.email_verified),
    name: text(all.name, 300) ?? null,
    givenName: text(all.given_name, 150) ?? null,
    familyName: text(all.family_name, 150) ?? null,
    nickname: text(all.nickname ?? all.preferred_username, 300) ?? null,
    picture: address(all.picture) ?? null,
  };
}

/** Apple sends it as text. */
function isProven({ definition, options }: Remote, claim: unknown): boolean {
  switch (options.should_trust_email_verified_connection) {
    case 'always_set_emails_as_verified':
      return true;
    case 'never_set_emails_as_verified':
      return false;
    default:
      return !definition.unprovenEmail && (claim === true || claim === 'true');
  }
}

/** The result of the connection's own mapping: Auth0's templates (oidc), or names of fields (oauth2). */
function mapped({ options, definition }: Remote, claims: ProviderClaims): Claims {
  const { attribute_map: map, fieldsMap: fields } = options;
  const made: Claims = {};
  if (definition.protocol === 'oidc' && map?.mapping_mode === 'use_map')
    for (const [name, template] of Object.entries(map.attributes ?? {}))
      if (typeof template === 'string') made[name] = filled(template, claims);
  for (const [name, field] of Object.entries(fields ?? {})) made[name] = at(claims.userinfo, field.split('.'));
  return Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined));
}

/** `${context.tokenset.name}`: the value itself if the template consists of nothing else. */
function filled(template: string, claims: ProviderClaims): unknown {
  const single = /^\$\{context\.(tokenset|userinfo)\.([\w.:/-]{1,255})\}$/.exec(template);
  if (single) return at(claims[single[1] as keyof ProviderClaims], single[2]!.split('.'));
  return template.replaceAll(
    /\$\{context\.(tokenset|userinfo)\.([\w.:/-]{1,255})\}/g,
    (_, of: keyof ProviderClaims, path: string) => {
      const value = at(claims[of], path.split('.'));
      return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    },
  );
}

function at(claims: unknown, path: string[]): unknown {
  let value: unknown = claims;
  for (const name of path.slice(0, 10)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Claims)[name];
  }
  return value ?? undefined;
}

function text(value: unknown, max: number): string | undefined {
  if (typeof value !== 'string' || !isStorable(value)) return undefined;
  // Never cuts a character in half.
  return value.trim().slice(0, max).toWellFormed().trim() || undefined;
}

function address(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 2_048 || !isStorable(value)) return undefined;
  const url = URL.parse(value);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : undefined;
}
