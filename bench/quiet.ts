/** The others: accounts with little traffic, whose latency shows whether they notice their neighbour. */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import type { System } from '@gatepost/testkit/system';
import { offer } from './offer.ts';
import { quantile } from './quantile.ts';
import type { Report } from './receiver.ts';
import { type ReceiverProcess, secret, startReceiver } from './receiver-process.ts';

export type Latency = { deliveries: number; lost: number; p50: number; p99: number; max: number; latencies: number[] };

export type Quiet = Disposable & {
  /** Publishes at the common rate for that long, or until `stop`, and measures publish → received. */
  measure(seconds: number, stop?: AbortSignal): Promise<Latency>;
};

const drainTimeoutMs = 60_000;

/** Gives each account a hook at one shared receiver. `perSecond` events are published over all of them together. */
export async function openQuiet(system: System, logins: string[], perSecond: number): Promise<Quiet> {
  const receiver: ReceiverProcess = await startReceiver();
  const api = await openApi(system);
  for (const login of logins)
    await api.createHook({ url: `${receiver.url}?${login}`, secret }, ['push'], `repos/${login}/widgets`);
  const subjects = logins.map((login) => `${login}/widgets`);
  return {
    async measure(seconds, stop) {
      await receiver.ask('reset');
      await using producer = await openProducer(system.amqpUrl);
      const published = await offer(producer, {
        rate: perSecond,
        total: Math.ceil(perSecond * seconds),
        subjects,
        ...(stop ? { stop } : {}),
      });
      const deadline = performance.now() + drainTimeoutMs;
      while ((await receiver.ask<{ received: number }>('count')).received < published && performance.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 50));
      const { received, latencies } = await receiver.ask<Report>('report');
      return {
        deliveries: received,
        lost: published - received,
        p50: quantile(latencies, 0.5),
        p99: quantile(latencies, 0.99),
        max: quantile(latencies, 1),
        latencies,
      };
    },
    [Symbol.dispose]: () => receiver[Symbol.dispose](),
  };
}

export const quietAccounts = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `quiet-${String(index + 1).padStart(2, '0')}`);
