/** Keeping a program running: it is started again when it dies, ever later, until it has died too often. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from './child.ts';
import { logEnd } from './home.ts';
import { Trouble } from './trouble.ts';

type Life = Pick<Child, 'exited' | 'log'>;

export type Supervised = {
  name: string;
  /** Already running; the first life. */
  child: Life;
  /** The next life; resolves when it is ready. May reject: that counts as a death. */
  start(): Promise<Life>;
};

const windowMs = 60_000;
const deathsAllowed = 5;

/**
 * Keeps a program running until `signal` aborts. Waits between lives double from 0.2 s; a life of a minute starts them anew.
 * @throws Trouble at the fifth death within a minute.
 */
export async function supervise(
  { name, child: first, start }: Supervised,
  about: (name: string, text: string) => void,
  signal: AbortSignal,
  clock = { now: () => performance.now(), wait: (ms: number): Promise<unknown> => sleep(ms) },
): Promise<void> {
  let child: Life | undefined = first;
  let deaths: number[] = [];
  for (;;) {
    const exit = await child?.exited;
    if (signal.aborted) return;
    const how = !exit
      ? 'could not start'
      : exit.signal
        ? `was ended by ${exit.signal}`
        : `ended with status ${exit.code}`;
    deaths = [...deaths.filter((at) => clock.now() - at < windowMs), clock.now()];
    if (deaths.length >= deathsAllowed) {
      const what = `${name} died five times within a minute, the last time it ${how}; the end of ${first.log}:`;
      throw new Trouble(what, ...logEnd(first.log));
    }
    const waitMs = 100 * 2 ** deaths.length;
    about(name, `${how}; starting it again in ${waitMs / 1000} s`);
    await clock.wait(waitMs);
    if (signal.aborted) return;
    child = await start().catch(() => undefined); // it has said why in its log; the next turn counts it
    if (child) about(name, 'runs again');
  }
}
