/**
 * The only middleware around the library, for all our changes to its requests and answers. Each further middleware would cost every request
 * about 4 µs of CPU, even if it had nothing to do.
 */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

/** Changes an answer that the library has made. */
export type Change = (ctx: KoaContextWithOIDC) => Promise<void> | undefined;

/** Runs around the library, which `next` calls. */
export type Wrap = (ctx: KoaContextWithOIDC, next: () => Promise<void>) => Promise<void>;

/** Changes the answers of one route, by the library's name for it, or of all requests. Changes run in reverse order of registration. */
export function changeAnswers(provider: Provider, route: string | 'all', change: Change): void {
  middlewareOf(provider).changes.unshift({ route, change });
}

/** Runs `wrap` for the requests that `isFor` selects by their head, before the library sees them. */
export function wrapRequests(provider: Provider, isFor: (ctx: KoaContextWithOIDC) => boolean, wrap: Wrap): void {
  middlewareOf(provider).wraps.push({ isFor, wrap });
}

type Registered = {
  changes: { route: string | 'all'; change: Change }[];
  wraps: { isFor: (ctx: KoaContextWithOIDC) => boolean; wrap: Wrap }[];
};

const registered = new WeakMap<Provider, Registered>();

function middlewareOf(provider: Provider): Registered {
  const known = registered.get(provider);
  if (known) return known;
  const own: Registered = { changes: [], wraps: [] };
  registered.set(provider, own);
  const changesOf = makeChangesOf(own.changes);
  provider.use(async (context, next) => {
    const ctx = context as KoaContextWithOIDC;
    const found = own.wraps.find(({ isFor }) => isFor(ctx));
    await (found ? found.wrap(ctx, next) : next());
    for (const change of changesOf(ctx.oidc?.route)) {
      const changing = change(ctx);
      if (changing) await changing;
    }
  });
  return own;
}

/** The changes of each route, looked up once: all are registered before the first request. */
function makeChangesOf(all: Registered['changes']) {
  const known = new Map<string | undefined, Change[]>();
  return (route: string | undefined): Change[] => {
    let changes = known.get(route);
    if (!changes) {
      changes = all.filter((one) => one.route === 'all' || one.route === route).map(({ change }) => change);
      known.set(route, changes);
    }
    return changes;
  };
}
