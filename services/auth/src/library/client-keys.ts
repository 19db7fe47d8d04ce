/**
 * Keys that a client publishes at its `jwks_uri`. The library fetches them again when no known key fits, but at most once a minute,
 * and never while one fits. Here a changed key is found at once, a withdrawn one is accepted for at most ten minutes, and made-up
 * kids cannot make us fetch endlessly.
 */
import { errors } from 'oidc-provider';

/** The part of the library’s client keystore that we use. */
export type RemoteKeys = {
  /** In seconds; until then the keys count as fresh. */
  freshUntil?: number;
  fresh(): boolean;
  refresh(): Promise<void>;
  selectForVerify(wanted: { alg: string; kid?: string }): object[];
};

const keptMs = 10 * 60_000;
/** While the URL does not answer, or answers with an error. */
const keptOnErrorMs = 60 * 60_000;
const retryMs = 30_000;
const readsAMinute = 5;
const pauseMs = 250;

const followed = new WeakSet<object>();

export function followClientKeys(keys: RemoteKeys, now: () => number = Date.now): void {
  if (followed.has(keys)) return;
  followed.add(keys);
  const { refresh, selectForVerify } = keys;
  let reads: number[] = [];
  let endOfLast = Number.NEGATIVE_INFINITY;
  let goodSince = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  const mayRead = () => {
    reads = reads.filter((at) => at > now() - 60_000);
    return reads.length < readsAMinute;
  };
  const inSeconds = (ms: number) => Math.floor((now() + ms) / 1000);
  const read = async () => {
    if (!mayRead()) throw new errors.InvalidClientMetadata('the keys at jwks_uri were asked for too often');
    reads.push(now());
    try {
      await refresh.call(keys);
      goodSince = now();
      keys.freshUntil = Math.min(keys.freshUntil!, inSeconds(keptMs));
    } catch (error) {
      if (now() - goodSince > keptOnErrorMs) throw error;
      keys.freshUntil = inSeconds(retryMs);
    } finally {
      endOfLast = now();
    }
  };

  keys.refresh = async () => {
    if (keys.fresh()) return;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    await reading;
  };
  // If no key fits, this checks whether the keys are fresh; if not, it refreshes them and looks once more.
  keys.selectForVerify = (wanted) => {
    if (!keys.fresh()) return [];
    const found = selectForVerify.call(keys, wanted);
    if (found.length === 0 && mayRead() && now() - endOfLast >= pauseMs) keys.freshUntil = 0;
    return found;
  };
}
