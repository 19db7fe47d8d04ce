/** `tenants/settings`: settings of the whole gate. */
import { signingAlgs } from '@gatepost/contracts/seed-shapes';
import { z } from 'zod';
import { sessionLifetime } from '../clients/lifetimes.ts';
import { mfaPolicies, mfaSettingsOf } from '../factors/types.ts';
import type { SettingsModel } from '../generated/models.ts';
import { httpUri } from '../http/http-uri.ts';
import { isSpoken, locales } from '../pages/language.ts';
import { type SelfService, selfServiceOf } from '../self-service/settings.ts';
import { changeInert, showInert } from '../settings/inert.ts';
import { inertOfTenant } from './inert-fields.ts';
import { ok, operation } from './operation.ts';
import { chooseFields, fieldsQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { badBody } from './problem.ts';
import { ignoringReadOnly } from './read-only.ts';
import { cleared } from './shapes.ts';

/** Auth0 accepts these in either unit, and shows hours. */
const lifetimes = ['session', 'idle_session', 'ephemeral_session', 'idle_ephemeral_session'] as const;
const minutes = z.number().int().min(1).nullable();

const change = z
  .strictObject({
    ...inertOfTenant,
    session_lifetime_in_minutes: minutes,
    idle_session_lifetime_in_minutes: minutes,
    ephemeral_session_lifetime_in_minutes: minutes,
    idle_ephemeral_session_lifetime_in_minutes: minutes,
    friendly_name: cleared(z.string().trim().min(1).max(128)),
    picture_url: cleared(httpUri),
    support_email: cleared(z.email().max(320)),
    support_url: cleared(httpUri),
    default_audience: cleared(z.string().max(600)),
    /** The first is the default language; an empty list means all. */
    enabled_locales: z
      .array(z.string().refine(isSpoken, `Not a language of the pages, which are ${locales.join(', ')}`))
      .max(50)
      .nullable(),
    identifier_first: z.boolean(),
    allow_signup: z.boolean(),
    oidc_conformant_claims: z.boolean(),
    default_id_token_alg: z.enum(signingAlgs),
    /** When people are asked for a second factor. */
    mfa_policy: z.enum(mfaPolicies),
    /** What people may do below `/account`; not in Auth0. */
    account_self_service: z.strictObject({ enabled: z.boolean(), delete: z.boolean() }).partial(),
  })
  .partial();
const updateBody = ignoringReadOnly(change, ['sandbox_versions_available', 'tenant']);

export const getSettings = operation({
  query: z.strictObject(fieldsQuery),
  run: async ({ parts, query }) => ok(chooseFields(present(parts, await parts.settings.load()), query)),
});

export const updateSettings = operation({
  body: updateBody,
  async run({ parts, body }) {
    const audience = body.default_audience as string | null | undefined;
    const noApi = () => badBody(`default_audience: no API has the identifier ${audience}`);
    const api = typeof audience === 'string' ? await parts.resources.find(audience) : undefined;
    if (typeof audience === 'string' && !api) throw noApi();
    return ok(
      present(
        parts,
        await parts.settings.update(async (before, transaction) => {
          // Nobody deletes it until the setting names it.
          if (api && !(await parts.resources.hold(transaction, [api.identifier])).has(api.identifier)) throw noApi();
          const changed = {
            friendlyName: body.friendly_name as string | null | undefined,
            pictureUrl: body.picture_url as string | null | undefined,
            supportEmail: body.support_email as string | null | undefined,
            supportUrl: body.support_url as string | null | undefined,
            defaultAudience: audience,
            enabledLocales: body.enabled_locales === null ? [] : body.enabled_locales,
            identifierFirst: body.identifier_first,
            allowSignup: body.allow_signup,
            oidcConformantClaims: body.oidc_conformant_claims,
            defaultIdTokenAlg: body.default_id_token_alg,
            mfa: body.mfa_policy && { ...(before.mfa as object), policy: body.mfa_policy },
            accountSelfService: body.account_self_service && {
              ...selfServiceOf(before),
              ...(body.account_self_service as Partial<SelfService>),
            },
            inert: changeInert(inertOfTenant, inertValues(body, before), { seal: parts.seal, before: before.inert }),
          };
          return Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined));
        }),
      ),
    );
  },
});

/** Flags are set one by one; lifetimes are stored in hours. */
function inertValues(body: z.infer<typeof change>, { inert }: SettingsModel): Record<string, unknown> {
  const { flags } = inert as { flags?: object };
  const inMinutes = lifetimes.map((name) => [`${name}_lifetime`, body[`${name}_lifetime_in_minutes`]] as const);
  return {
    ...body,
    ...(body.flags && { flags: { ...flags, ...body.flags } }),
    ...Object.fromEntries(
      inMinutes.flatMap(([name, value]) => (value === undefined ? [] : [[name, value && value / 60]])),
    ),
  };
}

function present({ seal }: Parts, settings: SettingsModel): object {
  return {
    friendly_name: settings.friendlyName ?? '',
    picture_url: settings.pictureUrl ?? '',
    support_email: settings.supportEmail ?? '',
    support_url: settings.supportUrl ?? '',
    default_audience: settings.defaultAudience ?? '',
    identifier_first: settings.identifierFirst,
    allow_signup: settings.allowSignup,
    oidc_conformant_claims: settings.oidcConformantClaims,
    default_id_token_alg: settings.defaultIdTokenAlg,
    mfa_policy: mfaSettingsOf(settings).policy,
    account_self_service: selfServiceOf(settings),
    enabled_locales: settings.enabledLocales.length > 0 ? settings.enabledLocales : locales,
    flags: {},
    sandbox_version: '22',
    sandbox_versions_available: ['22'],
    // In hours, as at Auth0.
    session_lifetime: sessionLifetime.absolute / 3_600,
    idle_session_lifetime: sessionLifetime.idle / 3_600,
    pushed_authorization_requests_supported: true,
    authorization_response_iss_parameter_supported: true,
    ...showInert(settings.inert, seal, true),
  };
}
