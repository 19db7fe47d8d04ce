/** Whether a process's dependencies are usable: for its readiness, and for the start page. */

/** Resolves while the dependency is usable, rejects with the reason otherwise. */
export type ReadyCheck = () => Promise<unknown> | unknown;

const checkTimeoutMs = 2_000;
const lookAgainMs = 1_000;

/** Whether each check passes, without reasons. Cached for a second, since anyone may ask. */
export function watchChecks(checks: Record<string, ReadyCheck>): () => Promise<Record<string, boolean>> {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let states: Promise<Record<string, boolean>>;
  return () => {
    if (performance.now() - lookedAt < lookAgainMs) return states;
    lookedAt = performance.now();
    states = failingChecks(checks).then((failing) =>
      Object.fromEntries(Object.keys(checks).map((name) => [name, !(name in failing)])),
    );
    return states;
  };
}

/** The reason of each failing check. */
export async function failingChecks(checks: Record<string, ReadyCheck>): Promise<Record<string, string>> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const timeout = Promise.withResolvers<never>();
      const timer = setTimeout(() => timeout.reject(new Error(`no answer in ${checkTimeoutMs} ms`)), checkTimeoutMs);
      try {
        await Promise.race([check(), timeout.promise]);
        return undefined;
      } catch (error) {
        return [name, reasonOf(error)] as const;
      } finally {
        clearTimeout(timer);
      }
    }),
  );
  return Object.fromEntries(results.filter((result) => result !== undefined));
}

/** The message of the original error: the outer one may hold only what clients may be told. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
