/**
 * How each command of ours runs and ends. The first SIGINT, SIGTERM or SIGHUP stops what runs, at whatever point, and closes
 * everything that was opened, newest first; a second one ends it all at once, and so does the time that services and stores may take.
 */
import { setMaxListeners } from 'node:events';
import { constants } from 'node:os';
import { killAll } from '../processes/child.ts';
import { homeFolder } from '../processes/home.ts';
import { serviceStopMs } from '../processes/services.ts';
import { Stopped, Trouble } from '../processes/trouble.ts';
import { makeSay, type Say } from './say.ts';

export type Context = {
  args: string[];
  env: NodeJS.ProcessEnv;
  home: string;
  say: Say;
  /** Aborts with `Stopped` when the command shall end. */
  signal: AbortSignal;
  /** Closed at the end, newest first. */
  stack: AsyncDisposableStack;
};

/** Stores stop after the services. */
const storesStopMs = 20_000;
// npm and the terminal may both tell us of one Ctrl-C.
const oneKeystrokeMs = 600;

/** Runs `main` and ends the process with the status it gives; 1 on trouble, 128 + the signal's number when told to stop. */
export async function runCommand(main: (context: Context) => Promise<number>): Promise<void> {
  process.umask(0o077);
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  const say = makeSay();
  listenForStop(abort, say);
  const stack = new AsyncDisposableStack();
  let status: number;
  try {
    status = await main({
      args: process.argv.slice(2),
      env: process.env,
      home: homeFolder(process.env),
      say,
      signal: abort.signal,
      stack,
    });
  } catch (error) {
    status = explain(abort.signal.aborted ? abort.signal.reason : error);
  }
  abort.abort(new Error('the command has ended')); // whatever still goes on beside what ended
  process.on('unhandledRejection', () => {}); // it ends for the reason that was just shown
  try {
    await stack.disposeAsync();
  } catch (error) {
    status ||= explain(error);
  }
  killAll();
  process.exit(status);
}

function listenForStop(abort: AbortController, say: Say): void {
  let firstAt: number | undefined;
  const stop = (by: NodeJS.Signals) => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      say.line();
      say.about('stopping', by === 'SIGINT' ? 'Ctrl-C again ends everything at once' : by);
      abort.abort(new Stopped(by));
      setTimeout(endNow, serviceStopMs(process.env) + storesStopMs, by).unref();
    } else if (now - firstAt > oneKeystrokeMs) {
      endNow(by);
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.once('disconnect', () => stop('SIGTERM')); // bootstrap.mjs is gone
  process.channel?.unref();
  // Nobody reads what we print any more (`npm start | head`).
  for (const out of [process.stdout, process.stderr]) out.on('error', () => stop('SIGTERM'));
}

function endNow(by: NodeJS.Signals): never {
  killAll();
  process.exit(128 + constants.signals[by]);
}

/** Prints what went wrong; the status it makes. */
function explain(error: unknown): number {
  if (error instanceof Stopped) return 128 + constants.signals[error.by];
  const lines =
    error instanceof Trouble ? error.lines : [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  for (const line of lines) process.stderr.write(`${line}\n`);
  return 1;
}
