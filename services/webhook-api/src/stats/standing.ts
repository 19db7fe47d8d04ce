/** The current state of a hook, an account, or all. */
import { setTimeout as wait } from 'node:timers/promises';
import { deadEventsQueue } from '@gatepost/contracts/topology';
import { countTakers } from '@gatepost/webhook-db/takers';
import { readWaiting, type WaitingReason } from '@gatepost/webhook-db/waiting-summary';
import { limitOf } from '../accounts/throttle.ts';
import { seconds, timeOf } from '../objects/time.ts';
import type { Parts } from '../parts.ts';
import { type CountedWaiting, countWaiting } from '../waiting/count.ts';
import type { Standing } from './present.ts';
import { loadIncomingRate } from './rows.ts';

const nothing: Standing = {
  waiting: [],
  dead_letters: null,
  dispatchers: null,
  limit: null,
  expected_end_at: null,
};

export async function hookStanding({ pool }: Parts, accountId: number, hookId: number): Promise<Standing> {
  return { ...nothing, waiting: await countWaiting(pool, accountId, hookId) };
}

export async function accountStanding({ pool, throttleDefaults }: Parts, accountId: number): Promise<Standing> {
  const { rows } = await pool.query<{ rate: number | null; burst: number | null }>(
    'SELECT throttle_rate AS rate, throttle_burst AS burst FROM accounts WHERE id = $1',
    [accountId],
  );
  const [counted, incoming, summary] = [
    await countWaiting(pool, accountId),
    await loadIncomingRate(pool, accountId),
    await readWaiting(pool),
  ];
  const limit = limitOf(rows[0], throttleDefaults);
  // Counting stops at a limit here; beyond it, the dispatchers have counted the largest accounts.
  const exact = summary?.accounts.find(({ id }) => id === accountId)?.deliveries ?? 0;
  const waiting = counted.map((one) =>
    one.reason === 'limit' && one.more && exact > one.deliveries ? { ...one, deliveries: exact, more: false } : one,
  );
  const behind = waiting.find(({ reason }) => reason === 'limit')?.deliveries ?? 0;
  const drained = limit.rate - incoming;
  const endMs = behind > 0 && drained > 0 ? Date.now() + (behind / drained) * 1000 : Number.NaN;
  return { ...nothing, waiting, limit, expected_end_at: shownTime(endMs) };
}

const words: Record<WaitingReason, CountedWaiting['reason']> = {
  throttled: 'limit',
  retry: 'retry',
  receiver_busy: 'busy',
  paused: 'paused',
};

/** The dispatchers counted what waits some seconds ago: all callers see the same, and it costs nothing. */
export async function standing({ pool, publisher, storeTimeoutMs }: Parts): Promise<Standing> {
  const [summary, dispatchers, dead_letters] = await Promise.all([
    readWaiting(pool),
    countTakers(pool),
    Promise.race([
      publisher.isConnected() ? publisher.waiting(deadEventsQueue, { mayBeGone: true }).catch(() => null) : null,
      wait(storeTimeoutMs / 2, null, { ref: false }), // RabbitMQ does not answer
    ]),
  ]);
  const waiting = Object.entries(summary?.reasons ?? {})
    .filter(([, { deliveries }]) => deliveries > 0)
    .map(([reason, { deliveries, since }]) => ({
      reason: words[reason as WaitingReason],
      deliveries,
      more: false,
      since: since === null ? null : shownTime(Date.parse(since)),
      next_at: null,
    }));
  return { ...nothing, waiting, dispatchers, dead_letters };
}

function shownTime(ms: number): string | null {
  const time = timeOf(ms);
  return time && seconds(time);
}
