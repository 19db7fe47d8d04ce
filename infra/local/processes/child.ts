/**
 * The programs that a command starts. Each runs in a process group of its own, so that Ctrl-C reaches only us and we decide the
 * order of the ends; on Linux the kernel also ends it when we are killed outright.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { findProgram } from './programs.ts';

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type Child = AsyncDisposable & {
  name: string;
  pid: number;
  /** Where its output goes. */
  log: string;
  /** The program's polite way to stop. */
  stopSignal: NodeJS.Signals;
  process: ChildProcess;
  /** Never rejects. */
  exited: Promise<Exit>;
  hasExited(): boolean;
};

export type ChildOptions = {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** Output is appended here. */
  log: string;
  /** Opens a channel, for 'ready' and to tell the child when we are gone. */
  ipc?: boolean;
  /** The program's polite way to stop; PostgreSQL's is SIGINT. */
  stopSignal?: NodeJS.Signals;
  stopDeadlineMs?: number;
};

const alive = new Set<number>();

/** Starts a program. Closing it stops it politely, then firmly after `stopDeadlineMs` (10 s). */
export function startChild(options: ChildOptions): Child {
  const stopSignal = options.stopSignal ?? 'SIGTERM';
  const output = openSync(options.log, 'a', 0o600);
  const [command, args] = endingWithUs(options, stopSignal);
  const child = spawn(command, args, {
    env: options.env,
    stdio: options.ipc ? ['ignore', output, output, 'ipc'] : ['ignore', output, output],
    detached: true,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    ...(options.gid === undefined ? {} : { gid: options.gid }),
  });
  closeSync(output);
  const { pid } = child;
  const ended = Promise.withResolvers<Exit>();
  let exit: Exit | undefined;
  const end = (result: Exit) => {
    if (pid !== undefined) alive.delete(pid);
    exit = result;
    ended.resolve(result);
  };
  let closing: Promise<void> | undefined;
  const close = async () => {
    if (!exit) child.kill(stopSignal);
    const firm = setTimeout(() => pid !== undefined && killGroup(pid), options.stopDeadlineMs ?? 10_000);
    await ended.promise;
    clearTimeout(firm);
    if (pid !== undefined) killGroup(pid); // what it may have left in its group
  };
  child.once('error', () => end({ code: 127, signal: null }));
  child.once('exit', (code, signal) => end({ code, signal }));
  if (pid !== undefined) alive.add(pid);
  return {
    name: options.name,
    pid: pid ?? 0,
    log: options.log,
    stopSignal,
    process: child,
    exited: ended.promise,
    hasExited: () => exit !== undefined,
    [Symbol.asyncDispose]() {
      closing ??= close();
      return closing;
    },
  };
}

/** Ends whatever we still have running, at once: the last resort of a second Ctrl-C. */
export function killAll(): void {
  for (const pid of alive) killGroup(pid);
}

export type RunOptions = { env?: NodeJS.ProcessEnv; cwd?: string; uid?: number; gid?: number; signal?: AbortSignal };

/**
 * Runs a short program to its end. Resolves with its status and everything it printed, whatever the status; 127 if it cannot be
 * started. When `signal` aborts, the program gets SIGTERM and, 20 s later, SIGKILL; the promise rejects once it has ended.
 */
export async function runToEnd(
  command: string,
  args: string[],
  options: RunOptions = {},
): Promise<Exit & { output: string }> {
  options.signal?.throwIfAborted();
  const { signal, ...spawnOptions } = options;
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...spawnOptions });
  if (child.pid !== undefined) alive.add(child.pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-64_000);
    });
  }
  let firm: NodeJS.Timeout | undefined;
  const stop = () => {
    if (child.pid === undefined) return;
    signalGroup(child.pid, 'SIGTERM');
    firm = setTimeout(killGroup, 20_000, child.pid);
  };
  signal?.addEventListener('abort', stop, { once: true });
  const exit = await new Promise<Exit>((resolve) => {
    child.once('error', (error) => {
      output += error.message;
      resolve({ code: 127, signal: null });
    });
    child.once('close', (code, killedBy) => resolve({ code, signal: killedBy }));
  });
  clearTimeout(firm);
  signal?.removeEventListener('abort', stop);
  if (child.pid !== undefined) alive.delete(child.pid);
  signal?.throwIfAborted();
  return { ...exit, output };
}

/** Wraps the program so that the kernel sends it `signal` when we die without a chance to stop it (util-linux, Linux only). */
function endingWithUs({ command, args, ipc }: ChildOptions, signal: NodeJS.Signals): [string, string[]] {
  const setpriv = ipc || process.platform !== 'linux' ? undefined : findProgram(['setpriv']);
  if (!setpriv) return [command, args];
  return [setpriv, ['--pdeathsig', signal.replace('SIG', ''), '--', command, ...args]];
}

function killGroup(pid: number): void {
  signalGroup(pid, 'SIGKILL');
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: nothing of it is left
  }
}
