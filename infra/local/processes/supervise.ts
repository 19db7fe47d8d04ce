/** Keeping a program running: it is started again when it dies, ever later, until it has died too often. */
import type { Child, Exit } from './child.ts';

/** `exit` is undefined when it could not even start. */
export type Death = { exit: Exit | undefined; waitMs: number };

export type SuperviseOptions = {
  name: string;
  /** Already running; the first life. */
  child: Child;
  /** The next life; resolves when it is ready. May reject: that counts as a death. */
  start: () => Promise<Child>;
  onDeath: (death: Death) => void;
  onReady: () => void;
  /** For tests. */
  now?: () => number;
  wait?: (ms: number) => Promise<unknown>;
};

const firstWaitMs = 200;
const lastWaitMs = 5_000;
const windowMs = 60_000;
const deathsAllowed = 5;

/**
 * Keeps the program running until `signal` aborts. Resolves with the last death after the fifth within a minute, and
 * with undefined when aborted. Waits between lives double from 0.2 s to 5 s; a life of a minute starts them anew.
 */
export async function supervise(
  options: SuperviseOptions,
  signal: AbortSignal,
): Promise<Pick<Death, 'exit'> | undefined> {
  const now = options.now ?? (() => performance.now());
  const wait = options.wait ?? ((ms: number) => new Promise((resolve) => setTimeout(resolve, ms)));
  let child: Child | undefined = options.child;
  let deaths: number[] = [];
  for (;;) {
    const exit: Exit | undefined = await child?.exited;
    if (signal.aborted) return undefined;
    deaths = [...deaths.filter((at) => now() - at < windowMs), now()];
    if (deaths.length >= deathsAllowed) return { exit };
    const waitMs = Math.min(firstWaitMs * 2 ** (deaths.length - 1), lastWaitMs);
    options.onDeath({ exit, waitMs });
    await wait(waitMs);
    if (signal.aborted) return undefined;
    try {
      child = await options.start();
      options.onReady();
    } catch {
      if (signal.aborted) return undefined;
      child = undefined; // it has said why in its log; the next turn counts it
    }
  }
}

export function describeExit(exit: Exit | undefined): string {
  if (!exit) return 'could not start';
  return exit.signal ? `was ended by ${exit.signal}` : `ended with status ${exit.code}`;
}
