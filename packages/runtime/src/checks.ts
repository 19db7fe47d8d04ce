/** Whether what a process depends on can be used: for its readiness, and for the page that people see. */

/** Resolves while what it looks at can be used, rejects with the reason otherwise. */
export type ReadyCheck = () => Promise<unknown> | unknown;

const checkTimeoutMs = 2_000;
const lookAgainMs = 1_000;

/** For each check whether it passes, without reasons. Looks again after a second at the soonest: anybody may ask. */
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

/** The reason of each check that fails. */
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

/** The message of the original error: the outer one may only say what a client is to be told. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
