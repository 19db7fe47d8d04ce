/** The library publishes every key it has, including ours that are not in use (keys/published.ts). */
import type { Provider } from 'oidc-provider';
import type { PublishedAlgs } from '../keys/published.ts';
import { changeAnswers } from './middleware.ts';

export function publishUsedKeys(provider: Provider, publishedAlgs: PublishedAlgs): void {
  changeAnswers(provider, 'jwks', async (ctx) => {
    const algs = await publishedAlgs();
    const { keys } = ctx.body as { keys: { alg: string }[] };
    const published = keys.filter(({ alg }) => algs?.has(alg) ?? true);
    // Some Auth0 clients read only the first key.
    ctx.body = { keys: published.sort((a, b) => Number(b.alg === 'RS256') - Number(a.alg === 'RS256')) };
  });
}
