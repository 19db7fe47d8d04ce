/** Where the milliseconds go between publish and receipt, and from there until the event is acked: events with one hook, at a steady rate. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openBenchSystem } from './bench-system.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { quantile } from './quantile.ts';
import type { Report } from './receiver.ts';
import { secret, startReceiver } from './receiver-process.ts';
import type { Marks, Traced } from './trace.ts';

type Moment = keyof Marks | 'sent' | 'confirmed' | 'received';

const stages: [what: string, from: Moment, to: Moment][] = [
  ['publish → RabbitMQ confirms it', 'sent', 'confirmed'],
  ['publish → the dispatcher has it', 'sent', 'arrived'],
  ['  waits for its batch; parsed', 'arrived', 'storing'],
  ['  its account is looked up, the event stored', 'storing', 'stored'],
  ['  limit, room, signature', 'stored', 'requested'],
  ['  request → the receiver has all of it', 'requested', 'received'],
  ['publish → received', 'sent', 'received'],
  ['received → the answer is read', 'received', 'responded'],
  ['  waits for its batch', 'responded', 'recording'],
  ['  the outcome is recorded', 'recording', 'recorded'],
  ['  acked', 'recorded', 'acked'],
];

export async function latency(options: Record<string, string | undefined>): Promise<Result> {
  const rate = Number(options.rate ?? 200);
  const seconds = Number(options.seconds ?? 20);
  const file = join(mkdtempSync(join(tmpdir(), 'gatepost-trace-')), 'trace.json');
  await using system = await openBenchSystem([{ login: 'acme', throttle: { rate: 1e6, burst: 1e6 } }]);
  using receiver = await startReceiver();
  const api = await openApi(system);
  await api.createHook({ url: receiver.url, secret });
  await system.dispatcher.end('SIGTERM');
  const trace = new URL('./trace.ts', import.meta.url).href;
  const dispatcher = await system.startDispatcher({ NODE_OPTIONS: `--import=${trace}`, TRACE_FILE: file });
  await using producer = await openProducer(system.amqpUrl);
  const subjects = ['acme/widgets'];
  const allReceived = async (count: number) => {
    const deadline = performance.now() + 30_000;
    while ((await receiver.ask<{ received: number }>('count')).received < count && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await receiver.ask('reset');
  await offer(producer, { rate, total: rate * 5, subjects }); // warm up
  await allReceived(rate * 5);
  await receiver.ask('reset');
  const total = rate * seconds;
  const confirmedAt = new Map<string, number>();
  const confirmed = (id: string) => confirmedAt.set(id, performance.timeOrigin + performance.now());
  await offer(producer, { rate, total, subjects, confirmed });
  await allReceived(total);
  const report = await receiver.ask<Report>('report');
  await new Promise((resolve) => setTimeout(resolve, 500)); // until the last are recorded
  await dispatcher.end('SIGTERM');
  const traced = JSON.parse(readFileSync(file, 'utf8')) as Traced;
  const deliveries = report.guids.map((guid, index) => {
    const received = report.arrivals[index]!;
    const sent = received - report.latencies[index]!;
    return { ...traced.marks[guid], sent, received, confirmed: confirmedAt.get(guid) };
  });
  const tookMs = (one: (typeof deliveries)[number], from: Moment, to: Moment) =>
    (one[to] ?? Number.NaN) - (one[from] ?? Number.NaN);
  const bySlowness = deliveries.toSorted((a, b) => tookMs(b, 'sent', 'received') - tookMs(a, 'sent', 'received'));
  const slowest = bySlowness.slice(0, Math.ceil(deliveries.length / 100));
  const table = stages.map(([what, from, to]) => {
    const took = deliveries.map((one) => tookMs(one, from, to)).filter((value) => !Number.isNaN(value));
    const inSlowest = slowest.map((one) => tookMs(one, from, to)).filter((value) => !Number.isNaN(value));
    if (took.length === 0 || inSlowest.length === 0) throw new Error(`nothing was traced of: ${what}`);
    return { what, p50: quantile(took, 0.5), p99: quantile(took, 0.99), inSlowest: sum(inSlowest) / inSlowest.length };
  });
  const gcMs = traced.gcMs.toSorted((a, b) => b - a);
  return {
    rows: [
      [`${total} deliveries at ${rate}/s, ms`, '   p50     p99   mean in the slowest 1 %'],
      ...table.map(({ what, p50, p99, inSlowest }): [string, string] => [
        what,
        [p50, p99, inSlowest].map((value) => value.toFixed(1).padStart(6)).join('  '),
      ]),
      [
        "garbage collection in the dispatcher: all pauses' time, longest",
        `${sum(gcMs).toFixed(0)} ms, ${gcMs[0]?.toFixed(1)} ms`,
      ],
      ["its event loop's delay, p99", `${traced.loopDelayP99Ms.toFixed(1)} ms`],
    ],
    figures: { rate, seconds, table, slowest: slowest.slice(0, 20), gcMs: gcMs.slice(0, 20) },
  };
}

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
