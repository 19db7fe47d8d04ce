/**
 * How each command of ours runs and ends: `command.ts PROGRAM [arguments]` calls what PROGRAM exports by default. The first SIGINT,
 * SIGTERM or SIGHUP stops what runs, at whatever point, and closes everything that was opened, newest first; a second one ends it all at
 * once.
 */
import { setMaxListeners } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { killAll } from '../processes/child.ts';
import { homeFolder, rootFolder } from '../processes/home.ts';
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

/** What a program of ours exports by default. The process ends with the status that it gives. */
export type Command = (context: Context) => Promise<number>;

// npm and the terminal may both tell us of one Ctrl-C.
const oneKeystrokeMs = 600;

process.umask(0o077);
const [program = '', ...args] = process.argv.slice(2);
const { env } = process;
const abort = new AbortController();
const { signal } = abort;
setMaxListeners(0, signal);
const say = makeSay();
listenForStop();
const stack = new AsyncDisposableStack();
let status: number;
try {
  const { default: main } = (await import(join(rootFolder, program))) as { default: Command };
  status = await main({ args, env, home: homeFolder(env), say, signal, stack });
} catch (error) {
  status = explain(signal.aborted ? signal.reason : error);
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

function listenForStop(): void {
  let firstAt: number | undefined;
  const stop = (by: NodeJS.Signals) => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      say.line();
      say.about('stopping', by === 'SIGINT' ? 'Ctrl-C again ends everything at once' : by);
      abort.abort(new Stopped(by));
    } else if (now - firstAt > oneKeystrokeMs) {
      endNow(by);
    }
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
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
  const stackOf = (thrown: unknown) => (thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
  process.stderr.write(`${error instanceof Trouble ? error.lines.join('\n') : stackOf(error)}\n`);
  return 1;
}
