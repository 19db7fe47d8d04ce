/**
 * Polls `probe` until it returns something truthy: a count of 0 is not there yet. Rejects after `timeoutMs`, and when `signal` aborts. A
 * time-out is there for what never comes, not to judge speed: on a busy machine everything takes ten times as long.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  timeoutMs = 120_000,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const found = await probe();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
