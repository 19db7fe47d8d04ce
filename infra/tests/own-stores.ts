/**
 * Stores for one run of tests, benchmarks or chaos, always its own: tests create and drop databases and may kill a store, so nobody
 * else's may be used. They are in a folder of `.gatepost/` and started anew each time.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../local/commands/command.ts';
import type { PrivateOptions } from '../local/stores/private.ts';
import { openStores, type Store, storeKinds, urlsOf } from '../local/stores/stores.ts';

export type OwnStores = AsyncDisposable & {
  urls: ReturnType<typeof urlsOf>;
  managementUrl: string | undefined;
  /** The single stores, for restarting one. */
  stores: Store[];
  options: PrivateOptions;
};

/**
 * Starts these kinds of stores under `<home>/<name>`, and does `beside` meanwhile. The command's stack closes them if nobody has done so.
 */
export async function openOwnStores(
  { env, home: within, say, signal, stack }: Context,
  name: 'test' | 'bench' | 'chaos',
  kinds = storeKinds,
  beside: () => Promise<void> = async () => {},
): Promise<OwnStores> {
  const home = join(within, name);
  rmSync(join(home, 'logs'), { recursive: true, force: true });
  const own = stack.use(new AsyncDisposableStack());
  const options = { env, home, own: true, fresh: true, forTests: name === 'test', signal, stack: own, say };
  const [stores] = await Promise.all([openStores(options, kinds), beside()]);
  const managementUrl = stores.find((store) => store.managementUrl)?.managementUrl;
  return {
    urls: urlsOf(stores),
    managementUrl,
    stores,
    options,
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}
