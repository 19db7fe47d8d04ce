/** Very many deliveries wait for their account's limit: does that cost memory, or delay fresh events? */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openBenchSystem, readMetric } from './bench-system.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { memoryOf } from './processes.ts';
import { ms, withTarget } from './quantile.ts';
import { openQuiet, quietAccounts } from './quiet.ts';
import { secret, startReceiver } from './receiver-process.ts';

const hooks = 20;
const parkTimeoutMs = 30 * 60_000;

export async function backlog(options: Record<string, string | undefined>): Promise<Result> {
  const deliveries = Number(options.events ?? 1_000_000);
  const seconds = Number(options.seconds ?? 30);
  const rate = Number(options.rate ?? 100);
  const logins = quietAccounts(20);
  await using system = await openBenchSystem([
    { login: 'backlog', throttle: { rate: 0.001, burst: 1 } },
    ...logins.map((login) => ({ login })),
  ]);
  const fleet = [system.dispatcher];
  using quiet = await openQuiet(system, logins, rate);
  using receiver = await startReceiver();
  const api = await openApi(system);
  for (let index = 0; index < hooks; index += 1)
    await api.createHook({ url: `${receiver.url}?${index}`, secret }, ['push'], 'repos/backlog/widgets');

  await quiet.measure(10); // warm up
  const before = await quiet.measure(seconds);
  const memoryBefore = memoryOf(system.dispatcher.pid).nowMb;

  await using producer = await openProducer(system.amqpUrl);
  const from = performance.now();
  const events = Math.ceil(deliveries / hooks);
  const publishing = offer(producer, { rate: 1e6, total: events, subjects: ['backlog/widgets'] });
  let parked = 0;
  while (parked < deliveries - hooks && performance.now() - from < parkTimeoutMs) {
    parked = await readMetric(fleet, 'dispatcher_throttled_total');
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await publishing;
  const parkSeconds = (performance.now() - from) / 1_000;
  const peak = memoryOf(system.dispatcher.pid).peakMb;

  await quiet.measure(10); // time for the aftermath of parking
  const after = await quiet.measure(seconds);
  const memoryAfter = memoryOf(system.dispatcher.pid).nowMb;
  const growth = memoryAfter - memoryBefore;
  const ratio = after.p99 / before.p99;
  return {
    rows: [
      ['parked deliveries', `${parked} in ${parkSeconds.toFixed(0)} s (${(parked / parkSeconds).toFixed(0)}/s)`],
      ['dispatcher RSS before / after / peak', `${memoryBefore} / ${memoryAfter} / ${peak} MB`],
      ['  growth', withTarget(`${growth} MB`, 'under 30 MB', growth < 30)],
      [`fresh events at ${rate}/s before: p50 / p99`, `${ms(before.p50)} / ${ms(before.p99)}`],
      ['fresh events with the backlog: p50 / p99', `${ms(after.p50)} / ${ms(after.p99)}`],
      ['  p99 after / before', withTarget(`${ratio.toFixed(1)} ×`, 'at most 2 ×', ratio <= 2)],
    ],
    figures: { deliveries, parked, parkSeconds, memoryBefore, memoryAfter, peak, growth, before, after, ratio },
  };
}
