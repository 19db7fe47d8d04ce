/** Programs whose output is ours to show as it comes. */
import { spawn } from 'node:child_process';
import { rootFolder } from './home.ts';

export type PassOptions = { env: NodeJS.ProcessEnv; signal: AbortSignal; deadlineMs?: number; cwd?: string };

/**
 * Runs the program in a process group of its own with our output, and answers whether it ended with 0. The group is ended when
 * `signal` aborts (the promise rejects then) or the deadline passes, and whatever is left of it when the program has ended.
 */
export async function runPassing(command: string, args: string[], options: PassOptions): Promise<boolean> {
  options.signal.throwIfAborted();
  const child = spawn(command, args, {
    cwd: options.cwd ?? rootFolder,
    env: options.env,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  const end = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // ESRCH: nothing of it is left
    }
  };
  const stop = () => {
    end('SIGTERM');
    setTimeout(end, 5_000, 'SIGKILL').unref();
  };
  options.signal.addEventListener('abort', stop, { once: true });
  const deadline = options.deadlineMs === undefined ? undefined : setTimeout(stop, options.deadlineMs);
  const status = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('exit', resolve);
  });
  clearTimeout(deadline);
  options.signal.removeEventListener('abort', stop);
  end('SIGKILL');
  options.signal.throwIfAborted();
  return status === 0;
}
