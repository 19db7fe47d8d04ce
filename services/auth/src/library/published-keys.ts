/** The library publishes every key it has, including ours that are not in use (keys/published.ts). */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { PublishedAlgs } from '../keys/published.ts';

export function publishUsedKeys(provider: Provider, publishedAlgs: PublishedAlgs): void {
  provider.use(async (ctx, next) => {
    await next();
    if ((ctx as KoaContextWithOIDC).oidc?.route !== 'jwks') return;
    const algs = await publishedAlgs();
    const { keys } = ctx.body as { keys: { alg: string }[] };
    const published = keys.filter(({ alg }) => algs?.has(alg) ?? true);
    // Some Auth0 clients read only the first key.
    ctx.body = { keys: published.sort((a, b) => Number(b.alg === 'RS256') - Number(a.alg === 'RS256')) };
  });
}
