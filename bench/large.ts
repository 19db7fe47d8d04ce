/** One large event to many hooks: is each delivered, what memory does it take, and do small deliveries beside it notice? */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { measureBareQueue } from './bare-queue.ts';
import { openBenchSystem } from './bench-system.ts';
import type { Result } from './main.ts';
import { memoryOf } from './processes.ts';
import { ms, withTarget } from './quantile.ts';
import { openQuiet, quietAccounts } from './quiet.ts';
import { secret, startReceiver } from './receiver-process.ts';

const megabytes = 24;
const hooks = 20;
const patienceMs = 120_000;

export async function large(options: Record<string, string | undefined>): Promise<Result> {
  const seconds = Number(options.seconds ?? 15);
  const rate = Number(options.rate ?? 100);
  const logins = quietAccounts(20);
  await using system = await openBenchSystem(['large', ...logins].map((login) => ({ login })));
  using quiet = await openQuiet(system, logins, rate);
  using receiver = await startReceiver();
  const api = await openApi(system);
  for (let index = 0; index < hooks; index += 1)
    await api.createHook({ url: `${receiver.url}?${index}`, secret }, ['push'], 'repos/large/widgets');

  await quiet.measure(5); // warm up
  const alone = await quiet.measure(seconds);
  await using producer = await openProducer(system.amqpUrl);
  const body = Buffer.from(JSON.stringify({ ref: 'refs/heads/main', padding: 'x'.repeat(megabytes * 1_000_000) }));
  const all = new AbortController();
  const from = performance.now();
  const delivering = (async () => {
    await producer.publish({ subject: 'large/widgets', body });
    while ((await received(receiver)) < hooks && performance.now() - from < patienceMs)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const tookMs = performance.now() - from;
    all.abort();
    return tookMs;
  })();
  const meanwhile = await quiet.measure(patienceMs / 1000, all.signal);
  const tookMs = await delivering;
  const delivered = await received(receiver);
  const { peakMb } = memoryOf(system.dispatcher.pid);
  const bare = await measureBareQueue(system.amqpUrl, {
    rate,
    seconds: tookMs / 1_000,
    otherLoad: (send) => send(body),
  });
  const ratio = meanwhile.p99 / alone.p99;
  return {
    rows: [
      [`${megabytes} MB to ${hooks} hooks: delivered`, withTarget(String(delivered), `${hooks}`, delivered === hooks)],
      ['  until the last had it', ms(tookMs)],
      ["  the dispatcher's peak memory", withTarget(`${peakMb} MB`, 'under 400 MB', peakMb < 400)],
      [`small deliveries alone, ${rate}/s: p50 / p99`, `${ms(alone.p50)} / ${ms(alone.p99)}`],
      ['  beside it: p50 / p99', `${ms(meanwhile.p50)} / ${ms(meanwhile.p99)}`],
      ['  p99 beside / alone', withTarget(`${ratio.toFixed(1)} ×`, 'at most 3 ×', ratio <= 3)],
      ['  lost', withTarget(String(meanwhile.lost), 'none', meanwhile.lost === 0)],
      ["  p50 / p99 through RabbitMQ's queue alone", `${ms(bare.p50)} / ${ms(bare.p99)}`],
    ],
    figures: { delivered, tookMs, peakMb, rate, alone, meanwhile, ratio, bare },
  };
}

async function received(receiver: { ask<T>(question: 'count'): Promise<T> }): Promise<number> {
  return (await receiver.ask<{ received: number }>('count')).received;
}
