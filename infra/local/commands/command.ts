/**
 * How our commands run and end: `command.ts PROGRAM [arguments]` calls PROGRAM's default export, a function of the `Context` that
 * resolves with the exit status. The first SIGINT, SIGTERM or SIGHUP stops the command, at any point, and closes everything it has
 * opened, newest first; a second one ends everything at once.
 */
import { setMaxListeners } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { homeFolder, rootFolder } from '../processes/home.ts';
import { Trouble } from '../processes/trouble.ts';
import { type Say, say } from './say.ts';

export type Context = {
  args: string[];
  env: NodeJS.ProcessEnv;
  home: string;
  say: Say;
  /** Aborts when the command must end; everything that waits then rejects. */
  signal: AbortSignal;
  /** Closed at the end, newest first. */
  stack: AsyncDisposableStack;
};

process.umask(0o077);
const [program = '', ...args] = process.argv.slice(2);
const abort = new AbortController();
const { signal } = abort;
setMaxListeners(0, signal, process);
const stack = new AsyncDisposableStack();
let stopped: { by: NodeJS.Signals; at: number } | undefined;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);

let status = 0;
try {
  const { default: main } = await import(join(rootFolder, program));
  status = await main({ args, env: process.env, home: homeFolder(process.env), say, signal, stack } satisfies Context);
} catch (error) {
  if (!stopped) tell(error);
}
abort.abort(); // stops anything still running
process.on('unhandledRejection', () => {}); // the reason was just shown
await stack.disposeAsync().catch(tell);
end();

function stop(by: NodeJS.Signals): void {
  if (!stopped) {
    stopped = { by, at: performance.now() };
    say.line();
    say.about('stopping', by === 'SIGINT' ? 'Ctrl-C again ends everything at once' : by);
    abort.abort();
  } else if (performance.now() - stopped.at > 600) end(); // npm and the terminal may both report one Ctrl-C
}

function tell(error: unknown): void {
  status = 1;
  // The message of a system error, such as a full disk or an unwritable file, says enough.
  const isPlain = error instanceof Trouble || (error instanceof Error && 'syscall' in error);
  console.error(isPlain ? error.message : error);
}

function end(): never {
  process.exit(stopped ? 128 + constants.signals[stopped.by] : status);
}
