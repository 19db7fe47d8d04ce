/** How any of our processes starts, reports and stops. */
import { describeEnv, readEnv, type z } from './env.ts';
import { type Log, openLog } from './log.ts';
import { Misconfigured } from './misconfigured.ts';

/** What `start` gets: the parsed environment, the log, and a stack that closes what was opened, newest first. */
export type Start<Env> = { env: Env; log: Log; stack: AsyncDisposableStack };

const defaultStopDeadlineMs = 20_000;

type CommonEnv = { LOG_LEVEL: string };

/**
 * Runs a service: reads its environment, starts it, and stops it politely on the first SIGTERM or SIGINT, or when the
 * parent that supervises it is gone; a second signal or `stopDeadlineMs` (20 s, unless the service has a deadline of its own) ends it at once with status 1.
 * It says `ready` to such a parent over IPC once it serves, which is exact where polling a port is not; without one (containers, systemd)
 * `/readyz` says the same.
 * A bad environment, or whatever else `start` finds misconfigured, is printed plainly and exits with 78 (EX_CONFIG); any other
 * failed start exits with 1.
 * An uncaught error is a fault of ours: it is logged and the process stops, for its supervisor to start it again.
 */
export async function run<S extends z.ZodObject>(
  service: string | { name: string; stopDeadlineMs: (env: z.infer<S>) => number },
  variables: S,
  start: (context: Start<z.infer<S>>) => Promise<void>,
): Promise<void> {
  const { name, stopDeadlineMs } =
    typeof service === 'string' ? { name: service, stopDeadlineMs: () => defaultStopDeadlineMs } : service;
  let env: z.infer<S>;
  try {
    env = readEnv(variables);
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error;
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exitCode = 78;
    return;
  }
  const log = openLog(name, (env as CommonEnv).LOG_LEVEL);
  const stack = new AsyncDisposableStack();
  const startedAt = performance.now();

  let stopping = false;
  const stop = async (reason: string, exitCode: number) => {
    if (stopping) {
      log.warn({ reason }, 'stopping at once');
      process.exit(1);
    }
    stopping = true;
    log.info({ reason }, 'stopping');
    const deadlineMs = stopDeadlineMs(env);
    setTimeout(() => {
      log.error({ deadline_ms: deadlineMs }, 'did not stop in time');
      process.exit(1);
    }, deadlineMs).unref();
    try {
      await started.catch(() => {});
      await stack.disposeAsync();
    } catch (error) {
      log.error({ error }, 'could not close everything');
      process.exit(1);
    }
    log.info('stopped');
    process.exit(exitCode);
  };
  process.on('SIGTERM', () => stop('SIGTERM', 0));
  process.on('SIGINT', () => stop('SIGINT', 0));
  if (process.channel) process.once('disconnect', () => stop('the supervisor is gone', 0));
  process.on('uncaughtException', (error) => {
    log.error({ error }, 'an error nobody caught');
    void stop('an error nobody caught', 1);
  });

  log.info({ env: describeEnv(variables, env), node: process.version, pid: process.pid }, 'starting');
  const started = start({ env, log, stack });
  try {
    await started;
    if (!stopping) {
      log.info({ duration_ms: Math.round(performance.now() - startedAt) }, 'ready');
      process.send?.('ready');
    }
  } catch (error) {
    if (error instanceof Misconfigured) {
      // What an operator wrote is wrong (a seed file): said as plainly as a bad environment.
      await stack.disposeAsync();
      process.stderr.write(`${name}: ${error.message}\n`);
      process.exit(78);
    }
    log.error({ error }, 'could not start');
    await stop('could not start', 1);
  }
}
