/**
 * `acr`: the assurance of a sign-in. A password or a code alone is level 1 of ISO/IEC 29115 in OpenID Connect Core’s notation (section 2):
 * the same person as before, whoever that is. With several factors it has Auth0's name (factors/policy.ts), which a request may ask
 * for. A request that requires a value nobody can reach here is refused at once, since no sign-in would help (Core 5.5.1.1).
 */
import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { essentialAcrs, multiFactorAcr, offersSecondFactors, signInAcr } from '../factors/policy.ts';
import { mfaSettingsOf } from '../factors/types.ts';
import type { SettingsStore } from '../settings/store.ts';

const { Check } = interactionPolicy;

export const essentialAcrWeLack = (settings: SettingsStore) =>
  new Check('acr_we_lack', 'the requested acr cannot be reached', async (ctx) => {
    const wanted = essentialAcrs(acrRequestOf(ctx));
    if (wanted.length === 0 || wanted.includes(signInAcr)) return Check.NO_NEED_TO_PROMPT;
    if (wanted.includes(multiFactorAcr) && offersSecondFactors(mfaSettingsOf(await settings.load())))
      return Check.NO_NEED_TO_PROMPT;
    throw new errors.UnmetAuthenticationRequirements('none of the requested acr values can be reached');
  });

type AcrRequest = { essential?: boolean; value?: unknown; values?: unknown } | null;

function acrRequestOf(ctx: KoaContextWithOIDC): AcrRequest | undefined {
  const request = (ctx.oidc.claims as { id_token?: { acr?: AcrRequest } }).id_token?.acr;
  if (request?.values !== undefined && !Array.isArray(request.values))
    throw new errors.InvalidRequest('invalid claims.id_token.acr.values type');
  return request;
}
