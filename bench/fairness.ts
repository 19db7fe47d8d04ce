/** One account floods: do the others notice? First under the default limit, then with the whole backlog released at once. */
import { openApi } from '@gatepost/testkit/api';
import type { Service } from '@gatepost/testkit/system';
import { measureBareQueue } from './bare-queue.ts';
import { openBenchSystem, readMetric } from './bench-system.ts';
import { openFlood } from './flood-process.ts';
import type { Result } from './main.ts';
import { payload } from './payload.ts';
import { ms, withTarget } from './quantile.ts';
import { openQuiet, quietAccounts } from './quiet.ts';
import { secret, startReceiver } from './receiver-process.ts';

const tailSeconds = 10;
const burst = 1_000;
const parkTimeoutMs = 5 * 60_000;

export async function fairness(options: Record<string, string | undefined>): Promise<Result> {
  const events = Number(options.events ?? 50_000);
  const seconds = Number(options.seconds ?? 20);
  const logins = quietAccounts(50);
  const shards = options.shards ?? '1';
  await using system = await openBenchSystem([{ login: 'flood' }, ...logins.map((login) => ({ login }))], {
    EVENT_SHARDS: shards,
    DELIVERY_SHARDS: shards,
  });
  using quiet = await openQuiet(system, logins, 50);
  using receiver = await startReceiver();
  const api = await openApi(system);
  await api.createHook({ url: receiver.url, secret }, ['push'], 'repos/flood/widgets');

  await quiet.measure(5); // warm up
  const alone = await quiet.measure(seconds);

  const flooded = new AbortController();
  using flood = await openFlood(system.amqpUrl, 'flood/widgets', events);
  const from = performance.now();
  const flooding = flood.begin().then(({ published, seconds: floodSeconds }) => {
    setTimeout(() => flooded.abort(), tailSeconds * 1_000);
    return { published, floodSeconds };
  });
  const parking = parkedWithin(system.dispatcher, events - 2 * burst, from);
  const beside50 = await quiet.measure(600, flooded.signal);
  const { published, floodSeconds } = await flooding;
  const parkRate = (events - 2 * burst) / (await parking);

  const { received: before } = await receiver.ask<{ received: number }>('count');
  await api.call('PUT', '/accounts/flood/throttle', { rate: 1e6, burst: 1e6 });
  const freed = await quiet.measure(seconds);
  const { received: after } = await receiver.ask<{ received: number }>('count');

  const bare = await measureBareQueue(system.amqpUrl, {
    rate: 50,
    seconds: floodSeconds + tailSeconds,
    async otherLoad(send) {
      for (let sent = 0; sent < published; sent += burst)
        await Promise.all(Array.from({ length: burst }, () => send(payload(0))));
    },
  });
  const ratio = beside50.p99 / alone.p99;
  return {
    rows: [
      ['50 accounts alone, 50 events/s together: p50 / p99', `${ms(alone.p50)} / ${ms(alone.p99)}`],
      ['one account publishes', `${published} events in ${floodSeconds.toFixed(1)} s`],
      ['  the 50 beside it: p50', ms(beside50.p50)],
      ['  the 50 beside it: p99', withTarget(ms(beside50.p99), 'under 2 s', beside50.p99 < 2_000)],
      ['    the longest of each second, ms', longestOfEach(50, beside50.latencies).join(' ')],
      ['  p99 beside / alone', withTarget(`${ratio.toFixed(1)} ×`, 'under 10 ×', ratio < 10)],
      ["  p50 / p99 through RabbitMQ's queue alone", `${ms(bare.p50)} / ${ms(bare.p99)}`],
      ['  of the 50 lost', withTarget(String(beside50.lost), 'none', beside50.lost === 0)],
      ['  its events parked beside them, /s', withTarget(parkRate.toFixed(0), 'at least 3000', parkRate >= 3_000)],
      ['its limit lifted: delivered of what had piled up', `${after - before} in ${seconds} s`],
      ['  the 50 meanwhile: p50 / p99', `${ms(freed.p50)} / ${ms(freed.p99)}`],
    ],
    figures: { events, alone, beside: beside50, ratio, bare, freed, floodSeconds, parkRate },
  };
}

/** They arrive roughly in the order in which they were sent. */
const longestOfEach = (count: number, latencies: number[]) =>
  Array.from({ length: Math.ceil(latencies.length / count) }, (_, second) =>
    Math.max(...latencies.slice(second * count, (second + 1) * count)).toFixed(0),
  );

/** Seconds until that many deliveries wait for their account's limit. */
async function parkedWithin(dispatcher: Service, wanted: number, from: number): Promise<number> {
  while (
    (await readMetric([dispatcher], 'dispatcher_throttled_total')) < wanted &&
    performance.now() - from < parkTimeoutMs
  )
    await new Promise((resolve) => setTimeout(resolve, 100));
  return (performance.now() - from) / 1_000;
}
