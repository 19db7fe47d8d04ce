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

const longLifeMs = 60_000;
const deathsAllowed = 5;

/**
 * Keeps a program running until `signal` aborts. Waits between lives double from 0.2 s; a life of a minute starts them anew.
 * @throws Trouble at the fifth death without such a life.
 */
export async function supervise(
  { name, child: first, start }: Supervised,
  about: (name: string, text: string) => void,
  signal: AbortSignal,
  clock = { now: () => performance.now(), wait: (ms: number): Promise<unknown> => sleep(ms) },
): Promise<void> {
  let child: Life | undefined = first;
  for (let deaths = 1, from = clock.now(); ; deaths += 1) {
    const exit = await child?.exited;
    if (signal.aborted) return;
    if (clock.now() - from >= longLifeMs) deaths = 1;
    const how = exit ? `ended with ${exit.signal ?? `status ${exit.code}`}` : 'could not start';
    if (deaths === deathsAllowed)
      throw new Trouble(
        `${name} died five times, the last time it ${how}; the end of ${first.log}:`,
        ...logEnd(first.log),
      );
    const waitMs = 100 * 2 ** deaths;
    about(name, `${how}; starting it again in ${waitMs / 1000} s`);
    await clock.wait(waitMs);
    if (signal.aborted) return;
    from = clock.now();
    child = await start().catch(() => undefined); // it has said why in its log; the next turn counts it
    if (child) about(name, 'runs again');
  }
}
