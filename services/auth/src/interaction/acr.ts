/**
 * `acr`: the assurance of a sign-in. All our methods, a password or a code, are level 1 of ISO/IEC 29115 in OpenID Connect Core’s
 * notation (section 2): it is the same person as before, whoever that is. An application that merely prefers more can read what it
 * got; one that requires more is refused at once, since no sign-in would help (Core 5.5.1.1).
 */
import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';

const { Check } = interactionPolicy;

export const signInAcr = '1';

export const essentialAcrWeLack = new Check('acr_we_lack', 'the requested acr cannot be reached', (ctx) => {
  const wanted = essentialAcrs(ctx);
  if (wanted.length > 0 && !wanted.includes(signInAcr))
    throw new errors.UnmetAuthenticationRequirements('none of the requested acr values can be reached');
  return Check.NO_NEED_TO_PROMPT;
});

type AcrRequest = { essential?: boolean; value?: unknown; values?: unknown } | null;

/** Without values any acr will do. */
function essentialAcrs(ctx: KoaContextWithOIDC): unknown[] {
  const request = (ctx.oidc.claims as { id_token?: { acr?: AcrRequest } }).id_token?.acr;
  if (!request?.essential) return [];
  if (request.value !== undefined) return [request.value];
  return Array.isArray(request.values) ? request.values : [];
}
