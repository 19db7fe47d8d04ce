/** Gauges of what waits, and the accounts with the most waiting deliveries. */
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import type { Pool } from '@gatepost/webhook-db/pool';
import { summarizeWaiting, type WaitingSummary } from '@gatepost/webhook-db/waiting-summary';

export type Waiting = Disposable & { latest(): WaitingSummary | undefined };

const lookEveryMs = 5_000;

/** All dispatchers show the same numbers, read once from the database. While it is away they stay, and `/readyz` tells. */
export function watchWaiting(pool: Pool, registry: Registry): Waiting {
  let summary: WaitingSummary | undefined;
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    summary = (await summarizeWaiting(pool).catch(() => undefined)) ?? summary;
    isLooking = false;
  };
  void look();
  const timer = setInterval(look, lookEveryMs).unref();
  const reasons = () => Object.entries(summary?.reasons ?? {});
  const registers = [registry];
  new Gauge({
    name: 'dispatcher_parked_deliveries',
    help: 'Deliveries that wait in PostgreSQL; the same number from every dispatcher',
    registers,
    collect() {
      this.set(reasons().reduce((sum, [, { deliveries }]) => sum + deliveries, 0));
    },
  });
  new Gauge({
    name: 'dispatcher_waiting_deliveries',
    help: 'The same by what they wait for: their limit, a retry or their receiver',
    labelNames: ['reason'],
    registers,
    collect() {
      for (const [reason, { deliveries }] of reasons()) this.set({ reason }, deliveries);
    },
  });
  new Gauge({
    name: 'dispatcher_waiting_oldest_seconds',
    help: 'How long the oldest of these has waited; the same number from every dispatcher',
    labelNames: ['reason'],
    registers,
    collect() {
      for (const [reason, { since }] of reasons())
        this.set({ reason }, since === null ? 0 : Math.max(0, Date.now() - Date.parse(since)) / 1000);
    },
  });
  return {
    latest: () => summary,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
