/** Keeping a program running: it is started again when it dies, ever later, until it has died too often. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child, Exit } from './child.ts';

/** `exit` is undefined when it could not even start. */
export type Death = { exit: Exit | undefined; waitMs: number };

export type Supervised = {
  /** Already running; the first life. */
  child: Pick<Child, 'exited'>;
  /** The next life; resolves when it is ready. May reject: that counts as a death. */
  start(): Promise<Pick<Child, 'exited'>>;
  onDeath(death: Death): void;
  onReady(): void;
};

const firstWaitMs = 200;
const windowMs = 60_000;
const deathsAllowed = 5;

/**
 * Keeps a program running until `signal` aborts. Resolves with the last death after the fifth within a minute, and
 * with undefined when aborted. Waits between lives double from 0.2 s; a life of a minute starts them anew.
 */
export async function supervise(
  { child: first, start, onDeath, onReady }: Supervised,
  signal: AbortSignal,
  clock = { now: () => performance.now(), wait: (ms: number): Promise<unknown> => sleep(ms) },
): Promise<Pick<Death, 'exit'> | undefined> {
  let child: Pick<Child, 'exited'> | undefined = first;
  let deaths: number[] = [];
  for (;;) {
    const exit = await child?.exited;
    if (signal.aborted) return undefined;
    deaths = [...deaths.filter((at) => clock.now() - at < windowMs), clock.now()];
    if (deaths.length >= deathsAllowed) return { exit };
    const waitMs = firstWaitMs * 2 ** (deaths.length - 1);
    onDeath({ exit, waitMs });
    await clock.wait(waitMs);
    if (signal.aborted) return undefined;
    child = await start().catch(() => undefined); // it has said why in its log; the next turn counts it
    if (child) onReady();
  }
}

export function describeExit(exit: Exit | undefined): string {
  if (!exit) return 'could not start';
  return exit.signal ? `was ended by ${exit.signal}` : `ended with status ${exit.code}`;
}
