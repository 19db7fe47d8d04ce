/** Lists the tenant’s languages in discovery. */
import type { Provider } from 'oidc-provider';
import type { SettingsStore } from '../settings/store.ts';
import { changeAnswers } from './middleware.ts';

/** If the store is unavailable, the library’s own answer stands, which lists every language we have. */
export function discoverLanguages(provider: Provider, settings: SettingsStore): void {
  changeAnswers(provider, 'discovery', async (ctx) => {
    const { enabledLocales } = await settings.load().catch(() => ({ enabledLocales: [] as string[] }));
    if (enabledLocales.length > 0) (ctx.body as Record<string, unknown>).ui_locales_supported = enabledLocales;
  });
}
