/**
 * How fast events become deliveries, at what cost, compared with the bare client's ceiling in the same run: first at a steady rate, for
 * latency; then with more offered than possible, for throughput; then the same POSTs by got and by node:http alone.
 */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import type { System } from '@gatepost/testkit/system';
import { openBenchSystem } from './bench-system.ts';
import { bare } from './client.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { cpuSeconds, cpuSecondsOf, memoryOf } from './processes.ts';
import { ms, quantile } from './quantile.ts';
import type { Report } from './receiver.ts';
import { type ReceiverProcess, secret, startReceiver } from './receiver-process.ts';

const drainTimeoutMs = 120_000;

export async function delivery(options: Record<string, string | undefined>): Promise<Result> {
  const rate = Number(options.rate ?? 200);
  const seconds = Number(options.seconds ?? 15);
  const events = Number(options.events ?? 20_000);
  const fanOut = Number(options['fan-out'] ?? 1);

  await using system = await openBenchSystem([{ login: 'acme', throttle: { rate: 1e6, burst: 1e6 } }]);
  using receiver = await startReceiver();
  const api = await openApi(system);
  for (let index = 0; index < fanOut; index += 1) await api.createHook({ url: `${receiver.url}?${index}`, secret });
  await publishAtRate(system, receiver, { rate, total: rate * 3, fanOut }); // warm up
  const steady = await publishAtRate(system, receiver, { rate, total: rate * seconds, fanOut });
  const steadyMb = memoryOf(system.dispatcher.pid).nowMb;
  const flood = await publishAtRate(system, receiver, { rate: 100_000, total: Math.ceil(events / fanOut), fanOut });
  const got = await bare('got', receiver.url, 10_000);
  const http = await bare('http', receiver.url, 10_000);
  const gotPerThousand = (got.cpuSeconds / 10_000) * 1_000;
  const httpPerThousand = (http.cpuSeconds / 10_000) * 1_000;
  const cost = flood.cpuPerThousand.dispatcher!;
  const memory = {
    auth: memoryOf(system.auth.pid),
    'webhook-api': memoryOf(system.webhookApi.pid),
    dispatcher: memoryOf(system.dispatcher.pid),
  };
  return {
    rows: [
      ['fan-out', String(fanOut)],
      ['steady rate offered, deliveries/s', String(rate * fanOut)],
      ['  publish → received p50 / p95 / p99', `${ms(steady.p50)} / ${ms(steady.p95)} / ${ms(steady.p99)}`],
      ['  lost / duplicates / bad signatures', `${steady.lost} / ${steady.duplicates} / ${steady.badSignatures}`],
      ['  RSS dispatcher', `${steadyMb} MB`],
      ['sustained under a flood, deliveries/s', flood.perSecond.toFixed(0)],
      ['  deliveries', String(flood.deliveries)],
      ['  lost / duplicates / bad signatures', `${flood.lost} / ${flood.duplicates} / ${flood.badSignatures}`],
      ...Object.entries(flood.cpuPerThousand).map(([name, value]): [string, string] => [
        `  CPU s per 1,000: ${name}`,
        value.toFixed(3),
      ]),
      ['got alone, POSTs/s', (10_000 / got.seconds).toFixed(0)],
      ['  CPU s per 1,000', gotPerThousand.toFixed(3)],
      ['node:http alone, POSTs/s', (10_000 / http.seconds).toFixed(0)],
      ['  CPU s per 1,000', httpPerThousand.toFixed(3)],
      ['dispatcher CPU / got alone', `${(cost / gotPerThousand).toFixed(2)} ×`],
      ['dispatcher CPU / node:http alone', `${(cost / httpPerThousand).toFixed(2)} ×`],
      ...Object.entries(memory).map(([name, { peakMb, nowMb }]): [string, string] => [
        `RSS ${name}, peak / now`,
        `${peakMb} / ${nowMb} MB`,
      ]),
    ],
    figures: {
      fanOut,
      rate,
      steady,
      flood,
      got,
      http,
      ratio: { got: cost / gotPerThousand, http: cost / httpPerThousand },
      memory: { ...memory, steadyMb },
    },
  };
}

type Phase = {
  deliveries: number;
  perSecond: number;
  p50: number;
  p95: number;
  p99: number;
  lost: number;
  duplicates: number;
  badSignatures: number;
  cpuPerThousand: Record<string, number>;
};

/** Publishes `total` events at a constant rate, however slow the rest is, and waits until all are received. */
async function publishAtRate(
  system: System,
  receiver: ReceiverProcess,
  { rate, total, fanOut }: { rate: number; total: number; fanOut: number },
): Promise<Phase> {
  await receiver.ask('reset');
  await using producer = await openProducer(system.amqpUrl);
  const processes = { dispatcher: system.dispatcher.pid, receiver: receiver.process.pid!, producer: process.pid };
  const servers = { RabbitMQ: 'beam.smp', PostgreSQL: 'postgres', Redis: 'redis-server' };
  const cpuNow = () => ({
    ...Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, cpuSeconds(pid)])),
    ...Object.fromEntries(Object.entries(servers).map(([name, command]) => [name, cpuSecondsOf(command)])),
  });
  const before: Record<string, number> = cpuNow();
  await offer(producer, { rate, total, subjects: ['acme/widgets'] });
  const expected = total * fanOut;
  const deadline = performance.now() + drainTimeoutMs;
  while ((await receiver.ask<{ received: number }>('count')).received < expected && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const after: Record<string, number> = cpuNow();
  const report = await receiver.ask<Report>('report');
  return {
    deliveries: report.received,
    perSecond: report.received / ((report.lastAt - report.firstAt) / 1000),
    p50: quantile(report.latencies, 0.5),
    p95: quantile(report.latencies, 0.95),
    p99: quantile(report.latencies, 0.99),
    lost: expected - report.received,
    duplicates: report.duplicates,
    badSignatures: report.badSignatures,
    cpuPerThousand: Object.fromEntries(
      Object.keys(after).map((name) => [name, ((after[name]! - before[name]!) / report.received) * 1_000]),
    ),
  };
}
