/** Discovery names the languages that the pages speak, as the tenant has them. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { SettingsStore } from '../settings/store.ts';

/** Without the store the answer stays as the library made it, with all languages there are. */
export function discoverLanguages(provider: Provider, settings: SettingsStore): void {
  provider.use(async (ctx, next) => {
    await next();
    if ((ctx as KoaContextWithOIDC).oidc?.route !== 'discovery') return;
    const { enabledLocales } = await settings.load().catch(() => ({ enabledLocales: [] as string[] }));
    if (enabledLocales.length > 0) (ctx.body as Record<string, unknown>).ui_locales_supported = enabledLocales;
  });
}
