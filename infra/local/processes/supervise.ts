/** Keeps a program running: restarts it when it dies, after growing waits, until it has died too often. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Say } from '../commands/say.ts';
import type { Child } from './child.ts';
import { logEnd } from './home.ts';
import { Trouble } from './trouble.ts';

type Life = Pick<Child, 'exited' | 'log'>;

/** A running program; `launch` restarts it and waits until it is ready. */
export type Supervised = { name: string; child: Life; launch(): Promise<Life> };

const longLifeMs = 60_000;
const deathsAllowed = 5;

/**
 * Keeps a program running until `signal` aborts. Waits between lives double from 0.2 s; a life of a minute resets them.
 * @throws Trouble at the fifth death without such a life; a failed start counts as one
 */
export async function supervise({ name, child, launch }: Supervised, say: Pick<Say, 'about'>, signal: AbortSignal) {
  let life: Life | undefined = child;
  for (let deaths = 1, from = performance.now(); ; deaths += 1) {
    const exit = await life?.exited;
    if (signal.aborted) return;
    if (performance.now() - from >= longLifeMs) deaths = 1;
    const how = exit ? `ended with ${exit.signal ?? `status ${exit.code}`}` : 'could not start';
    if (deaths === deathsAllowed)
      throw new Trouble(`${name} died five times, at last it ${how}; the end of ${child.log}:`, ...logEnd(child.log));
    const waitMs = 100 * 2 ** deaths;
    say.about(name, `${how}; starting it again in ${waitMs / 1000} s`);
    await sleep(waitMs);
    from = performance.now();
    life = await launch().catch(() => undefined); // its log says why; the next turn counts it
    if (life) say.about(name, 'runs again');
  }
}
