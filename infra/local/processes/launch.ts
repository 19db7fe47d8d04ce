/** Starting a program that others wait for. */
import { type Child, type ChildOptions, startChild } from './child.ts';
import { logEnd, logFile } from './home.ts';
import { Trouble } from './trouble.ts';
import { waitFor } from './wait.ts';

/** What a service ends with when its environment or seed is wrong (EX_CONFIG). */
const badConfiguration = 78;

type Server = ChildOptions & { letsIn(): Promise<boolean>; readyTimeoutMs?: number };

type Launching = { home: string; stack: AsyncDisposableStack; signal: AbortSignal };

/**
 * Makes the function that starts a server and waits until it lets us in. It throws Trouble with the end of its log; then nothing of the server
 * is left, and it may be called again.
 */
export function launcher({ home, stack, signal }: Launching, { letsIn, readyTimeoutMs, ...server }: Server) {
  return async (): Promise<Child> => {
    signal.throwIfAborted();
    const log = logFile(home, server.log);
    const child = stack.use(startChild({ stopDeadlineMs: 20_000, ...server, log }));
    const probe = async () =>
      child.hasExited() ? 'ended while it was starting' : (await letsIn()) ? 'ready' : undefined;
    const outcome = (await waitFor(probe, readyTimeoutMs ?? 120_000, signal)) ?? 'did not start in time';
    if (outcome === 'ready') return child;
    await child[Symbol.asyncDispose]();
    const end = logEnd(log);
    // What an operator has to mend stands there in plain lines; the structured ones are for other troubles.
    const isToMend = (await child.exited).code === badConfiguration;
    const shown = isToMend ? end.filter((line) => !line.trimStart().startsWith('{')) : end;
    throw new Trouble(`${child.name} ${outcome}; the end of ${log}:`, ...shown);
  };
}
