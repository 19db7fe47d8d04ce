/** Lists the tenant’s languages in discovery. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { SettingsStore } from '../settings/store.ts';

/** If the store is unavailable, the library’s own answer stands, which lists every language we have. */
export function discoverLanguages(provider: Provider, settings: SettingsStore): void {
  provider.use(async (ctx, next) => {
    await next();
    if ((ctx as KoaContextWithOIDC).oidc?.route !== 'discovery') return;
    const { enabledLocales } = await settings.load().catch(() => ({ enabledLocales: [] as string[] }));
    if (enabledLocales.length > 0) (ctx.body as Record<string, unknown>).ui_locales_supported = enabledLocales;
  });
}
