/**
 * Keys that are read from where a client publishes them (`jwks_uri`). The library reads them again when none of those that it has fits,
 * but not within a minute of the last time, and as long as one fits it never asks again. Here a key that the client has changed is
 * found at once, one that it has withdrawn is good for ten minutes at most, and made-up kids do not make us ask without end.
 */
import { errors } from 'oidc-provider';

/** What we use of the library's keystore of a client. */
export type RemoteKeys = {
  /** Seconds; until then the keys are as good as new. */
  freshUntil?: number;
  fresh(): boolean;
  refresh(): Promise<void>;
  selectForVerify(wanted: { alg: string; kid?: string }): object[];
};

const keptMs = 10 * 60_000;
/** While its address does not answer, or with an error. */
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
  // Whoever finds none asks whether they are fresh; if not, refreshes and looks once more.
  keys.selectForVerify = (wanted) => {
    if (!keys.fresh()) return [];
    const found = selectForVerify.call(keys, wanted);
    if (found.length === 0 && mayRead() && now() - endOfLast >= pauseMs) keys.freshUntil = 0;
    return found;
  };
}
