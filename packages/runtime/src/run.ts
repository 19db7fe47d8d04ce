/** How all our processes start, report and stop. */
import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import type { z } from 'zod';
import { describeEnv, readEnv } from './env.ts';
import { type Log, openLog } from './log.ts';
import { Misconfigured } from './misconfigured.ts';
import { misconfiguredBy, refusalOf } from './start-trouble.ts';
import { isAway } from './store-errors.ts';
import { startTracing, type TracingEnv, tracing } from './tracing.ts';

/**
 * The arguments of `start`: the parsed environment, the log, and a stack that closes what was opened, newest first. `stopping` aborts when the
 * service has been told to stop, STOP_DELAY_MS before it closes anything: it must no longer be ready then.
 */
export type Start<Env> = { env: Env; log: Log; stack: AsyncDisposableStack; stopping?: AbortSignal };

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

const defaultStopDeadlineMs = 20_000;

type CommonEnv = TracingEnv & { LOG_LEVEL: string; STOP_DELAY_MS: number; START_TIMEOUT_MS: number };
const againAfterMs = 1_000;
const flushMs = 2_000;

/**
 * Runs a service: reads its environment, starts it, and stops it gracefully on the first SIGTERM or SIGINT, or when its supervising parent is
 * gone; a second signal, or `stopDeadlineMs` (20 s, unless the service has a deadline of its own), ends it at once with status 1.
 * Once it serves, it sends `ready` to such a parent over IPC, which is more exact than polling a port; without one (containers, systemd)
 * `/readyz` says the same.
 * A store that is away is waited for, START_TIMEOUT_MS at most. A bad environment, a store that refuses its URL, and any other
 * misconfiguration found by `start` are printed plainly, with exit status 78 (EX_CONFIG); any other failed start exits with 1.
 * An uncaught error is our fault: it is logged and the process stops, for its supervisor to start it again.
 */
export async function run<S extends z.ZodObject>(
  service: string | { name: string; stopDeadlineMs: (env: z.infer<S>) => number },
  variables: S,
  start: (context: Start<z.infer<S>>) => Promise<void>,
): Promise<void> {
  const { name, stopDeadlineMs } =
    typeof service === 'string' ? { name: service, stopDeadlineMs: () => defaultStopDeadlineMs } : service;
  const env = readOrRefuse(name, variables);
  if (!env) return;
  const { LOG_LEVEL, STOP_DELAY_MS = 0, START_TIMEOUT_MS } = env as CommonEnv;
  const traced = (env as CommonEnv).OTEL_EXPORTER_OTLP_ENDPOINT !== undefined;
  const log = openLog(name, LOG_LEVEL, undefined, { traced });
  await startTracing(name, env as CommonEnv, log);
  const stack = new AsyncDisposableStack();
  // Closed last. An unreachable collector must not keep the process alive.
  stack.defer(() => Promise.race([tracing?.close().catch(() => {}), wait(flushMs, undefined, { ref: false })]));
  const startedAt = performance.now();

  const told = new AbortController();
  const close = async (exitCode: number) => {
    const isServing = await started.then(
      () => true,
      () => false,
    );
    if (exitCode === 0 && isServing) await wait(STOP_DELAY_MS);
    await stack.disposeAsync();
  };
  const stop = makeStop({ told, log, close, deadlineMs: STOP_DELAY_MS + stopDeadlineMs(env) });
  listenToStop(stop, log);

  log.info({ version, env: describeEnv(variables, env), node: process.version, pid: process.pid }, 'starting');
  const lastAt = startedAt + (START_TIMEOUT_MS ?? 0);
  const started = startWithStores(start, { env, log, stack, stopping: told.signal }, lastAt);
  try {
    await started;
    if (!told.signal.aborted) {
      log.info({ duration_ms: Math.round(performance.now() - startedAt) }, 'ready');
      process.send?.('ready');
    }
  } catch (error) {
    const wrong = misconfiguredBy(error);
    if (wrong) {
      await stack.disposeAsync();
      process.stderr.write(`${name}: ${wrong.message}\n`);
      process.exit(78);
    }
    if (told.signal.aborted) return; // whoever told it ends it
    log.error({ error }, 'could not start');
    await stop('could not start', 1);
  }
}

/** Closes everything and ends the process; at once if it was told to stop before, or when closing takes too long. */
function makeStop(options: {
  told: AbortController;
  log: Log;
  close(exitCode: number): Promise<void>;
  deadlineMs: number;
}) {
  const { told, log, close, deadlineMs } = options;
  return async (reason: string, exitCode: number): Promise<void> => {
    if (told.signal.aborted) {
      log.warn({ reason }, 'stopping at once');
      process.exit(1);
    }
    told.abort();
    log.info({ reason }, 'stopping');
    setTimeout(() => {
      log.error({ deadline_ms: deadlineMs }, 'did not stop in time');
      process.exit(1);
    }, deadlineMs).unref();
    try {
      await close(exitCode);
    } catch (error) {
      log.error({ error }, 'could not close everything');
      process.exit(1);
    }
    log.info('stopped');
    process.exit(exitCode);
  };
}

function listenToStop(stop: (reason: string, exitCode: number) => Promise<void>, log: Log): void {
  process.on('SIGTERM', () => stop('SIGTERM', 0));
  process.on('SIGINT', () => stop('SIGINT', 0));
  if (process.channel) process.once('disconnect', () => stop('the supervisor is gone', 0));
  process.on('uncaughtException', (error) => {
    log.error({ error }, 'an uncaught error');
    void stop('an uncaught error', 1);
  });
}

function readOrRefuse<S extends z.ZodObject>(name: string, variables: S): z.infer<S> | undefined {
  try {
    return readEnv(variables);
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error;
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exitCode = 78;
    return undefined;
  }
}

/** Tries again while a store is away. Whatever a failed try opened is closed before the next. */
export async function startWithStores<Env>(
  start: (context: Start<Env>) => Promise<void>,
  { env, log, stack, stopping }: Required<Start<Env>>,
  lastAt: number,
): Promise<void> {
  for (;;) {
    const opened = new AsyncDisposableStack();
    try {
      await start({ env, log, stack: opened, stopping });
      stack.use(opened);
      return;
    } catch (error) {
      await opened.disposeAsync().catch(() => {}); // a store that is away cannot be left politely
      const isWorthWaiting = isAway(error) && refusalOf(error) === undefined && performance.now() < lastAt;
      if (!isWorthWaiting || stopping.aborted) throw error;
      log.warn({ error }, 'a store is away; trying again until START_TIMEOUT_MS is over');
      await wait(againAfterMs, undefined, { signal: stopping }).catch(() => {});
      if (stopping.aborted) throw error;
    }
  }
}
