import { setTimeout as sleep } from 'node:timers/promises';

/** Calls `probe` every 50 ms until it returns something; undefined after `timeoutMs`. Rejects if `signal` aborts. */
export async function waitFor<T>(
  probe: () => Promise<T | undefined> | T | undefined,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const found = await probe();
    if (found !== undefined || performance.now() > deadline) return found;
    await sleep(50);
  }
}
