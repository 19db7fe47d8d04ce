/** The wait for what is still on its way when the last event is published. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Record } from './record.ts';

/** Longer than it takes anything that was in hand to come back; what does not move for so long is lost. */
const standstillMs = 180_000;

/**
 * Resolves when so many deliveries were accepted, or when no new one has been for a while. There is no other bound: what an account has
 * beyond its limit goes out at that limit, and the longer stores were away the more it is.
 */
export async function drain(
  record: Pick<Record, 'acceptedOnce'>,
  expected: number,
  { signal, giveUpAfterMs = standstillMs }: { signal: AbortSignal; giveUpAfterMs?: number },
): Promise<void> {
  let accepted = record.acceptedOnce();
  let movedAt = performance.now();
  while (accepted < expected && performance.now() - movedAt < giveUpAfterMs) {
    await sleep(100, undefined, { signal });
    const now = record.acceptedOnce();
    if (now > accepted) movedAt = performance.now();
    accepted = now;
  }
}
