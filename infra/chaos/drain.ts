/** Waits for deliveries that are still in progress after the last event has been published. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Record } from './record.ts';

/** Longer than anything in progress takes to come back; if nothing moves for so long, the rest is lost. */
const standstillMs = 180_000;

/**
 * Resolves when that many deliveries were accepted, or when no new one has come for a while. There is no other limit: an account's excess
 * goes out at its limit, and the longer stores were down, the more there is.
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
