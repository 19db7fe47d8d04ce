/** An application as the form of its settings holds it, and what is sent of that. */
import type { Application } from '../../api/management-types.ts';
import { linesOf } from './fields.tsx';
import type { algorithms } from './kinds.ts';

export type ApplicationForm = ReturnType<typeof formOf>;

export function formOf(application: Application) {
  const { refresh_token: refresh = {}, token_endpoint_auth_method: method } = application;
  const lines = (list: string[]) => list.join('\n');
  const text = (value: number | undefined) => (value === undefined ? '' : String(value));
  return {
    name: application.name,
    description: application.description,
    logo_uri: application.logo_uri ?? '',
    app_type: application.app_type,
    is_first_party: application.is_first_party,
    callbacks: lines(application.callbacks),
    allowed_logout_urls: lines(application.allowed_logout_urls),
    web_origins: lines(application.web_origins),
    allowed_origins: lines(application.allowed_origins),
    alg: application.jwt_configuration.alg as (typeof algorithms)[number][0],
    claims: claimsOf(application),
    rotates: refresh.rotation_type ? refresh.rotation_type === 'rotating' : method === 'none',
    leeway: text(refresh.leeway),
    expires:
      refresh.expiration_type !== 'non-expiring' &&
      !(refresh.infinite_token_lifetime && refresh.infinite_idle_token_lifetime),
    token_lifetime: text(refresh.token_lifetime),
    idle_token_lifetime: text(refresh.idle_token_lifetime),
    infinite_token_lifetime: refresh.infinite_token_lifetime ?? false,
    infinite_idle_token_lifetime: refresh.infinite_idle_token_lifetime ?? false,
    grant_types: application.grant_types,
    par: application.require_pushed_authorization_requests,
    dpop: application.require_proof_of_possession,
    trustsAddress: application.is_token_endpoint_ip_header_trusted,
    organization_usage: application.organization_usage ?? 'deny',
    organization_require_behavior: application.organization_require_behavior ?? 'no_prompt',
    initiate_login_uri: application.initiate_login_uri ?? '',
  };
}

function claimsOf({ oidc_conformant_claims: isStandard }: Application): 'tenant' | 'auth0' | 'standard' {
  if (isStandard === null) return 'tenant';
  return isStandard ? 'standard' : 'auth0';
}

/** Each wins over its lifetime. */
const infinite = ['infinite_token_lifetime', 'infinite_idle_token_lifetime'] as const;

/** The form's differences from the values read, by the API's names. */
export function changes(application: Application, form: ApplicationForm): object {
  const before = formOf(application);
  const differs = (...names: (keyof ApplicationForm)[]) =>
    names.some((name) => JSON.stringify(before[name]) !== JSON.stringify(form[name]));
  const number = (name: string, value: string) => (value.trim() === '' ? {} : { [name]: Number(value) });
  const plain = (
    [
      'name',
      'description',
      'logo_uri',
      'app_type',
      'is_first_party',
      'grant_types',
      'organization_usage',
      'organization_require_behavior',
      'initiate_login_uri',
    ] as const
  ).filter((name) => differs(name));
  const lists = (['callbacks', 'allowed_logout_urls', 'web_origins', 'allowed_origins'] as const).filter((name) =>
    differs(name),
  );
  const {
    token_lifetime: _lifetime,
    idle_token_lifetime: _idle,
    infinite_token_lifetime: _infinite,
    infinite_idle_token_lifetime: _infiniteIdle,
    leeway: _leeway,
    ...keptOfRefresh
  } = application.refresh_token ?? {};
  return {
    ...Object.fromEntries(plain.map((name) => [name, form[name]])),
    ...Object.fromEntries(lists.map((name) => [name, linesOf(form[name])])),
    ...(differs('alg') && { jwt_configuration: { ...application.jwt_configuration, alg: form.alg } }),
    ...(differs('claims') && { oidc_conformant_claims: form.claims === 'tenant' ? null : form.claims === 'standard' }),
    ...(differs('rotates', 'leeway', 'expires', 'token_lifetime', 'idle_token_lifetime', ...infinite) && {
      refresh_token: {
        ...keptOfRefresh,
        rotation_type: form.rotates ? 'rotating' : 'non-rotating',
        expiration_type: form.expires ? 'expiring' : 'non-expiring',
        ...number('leeway', form.leeway),
        ...number('token_lifetime', form.token_lifetime),
        ...number('idle_token_lifetime', form.idle_token_lifetime),
        ...Object.fromEntries(infinite.filter((name) => form[name]).map((name) => [name, true])),
      },
    }),
    ...(differs('par') && { require_pushed_authorization_requests: form.par }),
    ...(differs('dpop') && { require_proof_of_possession: form.dpop }),
    ...(differs('trustsAddress') && { is_token_endpoint_ip_header_trusted: form.trustsAddress }),
  };
}
