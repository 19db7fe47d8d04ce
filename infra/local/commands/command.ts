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
let stoppedAt: number | undefined;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
process.once('disconnect', () => stop('SIGTERM')); // bootstrap.mjs is gone
process.channel?.unref();

const stack = new AsyncDisposableStack();
let status = 0;
try {
  const { default: main } = (await import(join(rootFolder, program))) as { default: Command };
  status = await main({ args, env, home: homeFolder(env), say, signal, stack });
} catch (error) {
  status = explain(signal.aborted ? signal.reason : error);
}
abort.abort(new Error('the command has ended')); // whatever still goes on beside what ended
process.on('unhandledRejection', () => {}); // it ends for the reason that was just shown
await stack.disposeAsync().catch((error) => (status ||= explain(error)));
killAll();
process.exit(status);

function stop(by: NodeJS.Signals): void {
  const isFirst = stoppedAt === undefined;
  stoppedAt ??= performance.now();
  if (isFirst) {
    say.line();
    say.about('stopping', by === 'SIGINT' ? 'Ctrl-C again ends everything at once' : by);
    abort.abort(new Stopped(by));
  } else if (performance.now() - stoppedAt > oneKeystrokeMs) {
    killAll();
    process.exit(128 + constants.signals[by]);
  }
}

/** Prints what went wrong; the status it makes. */
function explain(error: unknown): number {
  if (error instanceof Stopped) return 128 + constants.signals[error.by];
  const text = error instanceof Error && !(error instanceof Trouble) ? error.stack : undefined;
  process.stderr.write(`${text ?? (error instanceof Trouble ? error.message : error)}\n`);
  return 1;
}
