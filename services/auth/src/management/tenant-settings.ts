/** `tenants/settings`: what holds for the whole gate. */
import { z } from '@gatepost/runtime/env';
import { sessionLifetime } from '../clients/lifetimes.ts';
import type { SettingsModel } from '../generated/models.ts';
import { locales } from '../pages/language.ts';
import { ok, operation } from './operation.ts';
import { chooseFields, fieldsQuery } from './paging.ts';
import { badBody } from './problem.ts';
import { httpUri } from './shapes.ts';

/** Left out: unchanged. Null or empty: none. */
const cleared = <T extends z.ZodType>(shape: T) =>
  z.union([shape, z.literal(''), z.null()]).transform((value) => (value === '' ? null : value));

const updateBody = z
  .strictObject({
    friendly_name: cleared(z.string().trim().min(1).max(128)),
    picture_url: cleared(httpUri),
    support_email: cleared(z.email().max(320)),
    support_url: cleared(httpUri),
    default_audience: cleared(z.string().max(600)),
    identifier_first: z.boolean(),
    allow_signup: z.boolean(),
    oidc_conformant_claims: z.boolean(),
  })
  .partial();

export const getSettings = operation({
  query: z.strictObject(fieldsQuery),
  run: async ({ parts, query }) => ok(chooseFields(present(await parts.settings.load()), query)),
});

export const updateSettings = operation({
  body: updateBody,
  async run({ parts, body }) {
    const audience = body.default_audience as string | null | undefined;
    if (typeof audience === 'string' && !(await parts.resources.find(audience)))
      throw badBody(`default_audience: no API has the identifier ${audience}`);
    const change = {
      friendlyName: body.friendly_name as string | null | undefined,
      pictureUrl: body.picture_url as string | null | undefined,
      supportEmail: body.support_email as string | null | undefined,
      supportUrl: body.support_url as string | null | undefined,
      defaultAudience: audience,
      identifierFirst: body.identifier_first,
      allowSignup: body.allow_signup,
      oidcConformantClaims: body.oidc_conformant_claims,
    };
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    return ok(present(await parts.settings.update(given)));
  },
});

function present(settings: SettingsModel): object {
  return {
    friendly_name: settings.friendlyName ?? '',
    picture_url: settings.pictureUrl ?? '',
    support_email: settings.supportEmail ?? '',
    support_url: settings.supportUrl ?? '',
    default_audience: settings.defaultAudience ?? '',
    identifier_first: settings.identifierFirst,
    allow_signup: settings.allowSignup,
    oidc_conformant_claims: settings.oidcConformantClaims,
    enabled_locales: locales,
    // Hours, as Auth0 has them.
    session_lifetime: sessionLifetime.absolute / 3_600,
    idle_session_lifetime: sessionLifetime.idle / 3_600,
    pushed_authorization_requests_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}
