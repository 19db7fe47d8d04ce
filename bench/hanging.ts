/** One receiver hangs with many deliveries waiting: do the others notice? */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { measureBareQueue } from './bare-queue.ts';
import { openBenchSystem } from './bench-system.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { payload } from './payload.ts';
import { ms, withTarget } from './quantile.ts';
import { openQuiet, quietAccounts } from './quiet.ts';
import { secret, startReceiver } from './receiver-process.ts';

export async function hanging(options: Record<string, string | undefined>): Promise<Result> {
  const waiting = Number(options.events ?? 1_000);
  const seconds = Number(options.seconds ?? 30);
  const rate = Number(options.rate ?? 100);
  const logins = quietAccounts(20);
  await using system = await openBenchSystem([
    { login: 'hanging', throttle: { rate: 1e6, burst: 1e6 } },
    ...logins.map((login) => ({ login })),
  ]);
  using quiet = await openQuiet(system, logins, rate);
  using receiver = await startReceiver({ hangs: true });
  await (await openApi(system)).createHook({ url: receiver.url, secret }, ['push'], 'repos/hanging/widgets');

  await quiet.measure(5); // warm up
  const alone = await quiet.measure(seconds);
  await using producer = await openProducer(system.amqpUrl);
  const coming = offer(producer, { rate: 1e6, total: waiting, subjects: ['hanging/widgets'] });
  const influx = await quiet.measure(3);
  await coming;
  const meanwhile = await quiet.measure(seconds);
  const bare = await measureBareQueue(system.amqpUrl, {
    rate,
    seconds: 3,
    otherLoad: (send) => Promise.all(Array.from({ length: waiting }, () => send(payload(0)))),
  });
  const ratio = meanwhile.p99 / alone.p99;
  return {
    rows: [
      [`20 accounts alone, ${rate} events/s together: p50 / p99`, `${ms(alone.p50)} / ${ms(alone.p99)}`],
      [
        `while ${waiting} events for a receiver that hangs come in at once: p50 / p99`,
        `${ms(influx.p50)} / ${ms(influx.p99)}`,
      ],
      ["  p50 / p99 through RabbitMQ's queue alone", `${ms(bare.p50)} / ${ms(bare.p99)}`],
      ['then, beside a receiver that hangs, deliveries waiting for it', String(waiting)],
      ['  the 20 beside it: p50', ms(meanwhile.p50)],
      ['  the 20 beside it: p99', ms(meanwhile.p99)],
      ['  p99 beside / alone', withTarget(`${ratio.toFixed(1)} ×`, 'at most 2 ×', ratio <= 2)],
      [
        '  of the 20 lost',
        withTarget(String(influx.lost + meanwhile.lost), 'none', influx.lost + meanwhile.lost === 0),
      ],
    ],
    figures: { waiting, rate, alone, influx, bare, meanwhile, ratio },
  };
}
