/**
 * Claims by the standard or in Auth0’s way, depending on what a client was written for (`oidc_conformant_claims` of the client or the
 * tenant).
 *
 * By the standard, `updated_at` is a number of seconds (OpenID Connect Core 5.1), and claims requested by scope are at userinfo; the ID
 * token has them only if no access token comes with it, or if the `claims` parameter asks for them there (5.4, 5.5). At Auth0,
 * `updated_at` is a string and the ID token has all claims: its SDKs read the user from there.
 */
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { TokenAccount } from './accounts/store.ts';
import type { OwnMetadata } from './clients/metadata.ts';
import type { SettingsStore } from './settings/store.ts';

type Requested = Record<string, unknown> | undefined;

/** The account, with claims in the form that the requesting client expects. */
export function withConformantClaims(
  ctx: KoaContextWithOIDC,
  account: TokenAccount,
  settings: SettingsStore,
): Omit<TokenAccount, 'claims'> & { claims(use: string, scope: string, requested: Requested): Promise<Claims> } {
  return {
    ...account,
    async claims(use, _scope, requested) {
      const all = await account.claims();
      if (!(await isConformant(ctx, settings))) return all;
      const { updated_at: updatedAt, ...rest } = all;
      const claims = { ...rest, ...(typeof updatedAt === 'string' && { updated_at: seconds(updatedAt) }) };
      if (use !== 'id_token' || ctx.oidc.params?.response_type === 'id_token') return claims;
      const named = Object.entries(claims).filter(([name]) => requested && name in requested);
      return { ...Object.fromEntries(named), sub: all.sub };
    },
  };
}

type Claims = Awaited<ReturnType<TokenAccount['claims']>>;

async function isConformant(ctx: KoaContextWithOIDC, settings: SettingsStore): Promise<boolean> {
  const own = (ctx.oidc.client as Partial<OwnMetadata> | undefined)?.oidc_conformant_claims;
  return own ?? (await settings.load()).oidcConformantClaims;
}

const seconds = (isoTime: string) => Math.floor(Date.parse(isoTime) / 1000);
