/**
 * One account over its limit, four dispatchers: never more than rate × t + burst in any window, nearly all of the rate used, and a lifted
 * limit takes effect at once. Then: how fast deliveries are parked.
 */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import pg from 'pg';
import { openBenchSystem, readMetric } from './bench-system.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { withTarget } from './quantile.ts';
import type { Report } from './receiver.ts';
import { secret, startReceiver } from './receiver-process.ts';

const limit = { rate: 50, burst: 10 };
const dispatchers = 4;
const drainTimeoutMs = 60_000;

export async function throttle(options: Record<string, string | undefined>): Promise<Result> {
  const seconds = Number(options.seconds ?? 60);
  const toPark = Number(options.events ?? 20_000);
  await using system = await openBenchSystem([
    { login: 'acme', throttle: limit },
    { login: 'parked', throttle: { rate: 0.001, burst: 1 } },
  ]);
  const fleet = [system.dispatcher];
  while (fleet.length < dispatchers) fleet.push(await system.startDispatcher());
  using receiver = await startReceiver();
  const api = await openApi(system);
  await api.createHook({ url: receiver.url, secret }, ['push'], 'repos/acme/widgets');
  await api.createHook({ url: receiver.url, secret }, ['push'], 'repos/parked/widgets');
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // until the new hook's ping has passed
  // First, while nobody else has sent anything: beside other traffic, a flood is not routed at this speed.
  await using producer = await openProducer(system.amqpUrl);
  const pool = new pg.Pool({ connectionString: system.databaseUrl, max: 1, options: '-c search_path=webhooks' });
  const parkingFrom = performance.now();
  const publishing = offer(producer, { rate: 1e6, total: toPark, subjects: ['parked/widgets'] });
  let parked = 0;
  while (parked < toPark - 1 && performance.now() - parkingFrom < drainTimeoutMs * 2) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    parked = (await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM parked')).rows[0]!.n;
  }
  const parkSeconds = (performance.now() - parkingFrom) / 1_000;
  await publishing;
  const parkRate = parked / parkSeconds;

  await receiver.ask('reset');

  // A fifth more than the limit, so that there is always something waiting.
  const total = Math.ceil((limit.rate * seconds + limit.burst) * 1.2);
  const offering = offer(producer, { rate: limit.rate * 1.2, total, subjects: ['acme/widgets'] });
  await offering;
  const limited = await receiver.ask<Report>('report');
  const arrivals = limited.arrivals.toSorted((a, b) => a - b);
  const inWindow = arrivals.filter((at) => at - arrivals[0]! <= seconds * 1_000).length;
  const used = inWindow / (limit.rate * seconds + limit.burst);
  const excess = largestExcess(arrivals);
  const begun = await pool.query<{ at: string }>(
    `SELECT extract(epoch FROM d.delivered_at) * 1000 AS at FROM deliveries d JOIN accounts a ON a.id = d.account_id
      WHERE a.login = 'acme' AND d.event = 'push' ORDER BY 1`,
  );
  await pool.end();
  const excessBegun = largestExcess(begun.rows.map(({ at }) => Number(at)));

  const { received: before } = await receiver.ask<{ received: number }>('count');
  const liftedAt = performance.now();
  await api.call('PUT', '/accounts/acme/throttle', { rate: 10_000, burst: 10_000 });
  let received = before;
  while (received < total && performance.now() - liftedAt < drainTimeoutMs) {
    received = (await receiver.ask<{ received: number }>('count')).received;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const liftedSeconds = (performance.now() - liftedAt) / 1_000;
  const excessSum = await readMetric(fleet, 'dispatcher_throttle_excess_wait_seconds_sum');
  const excessCount = await readMetric(fleet, 'dispatcher_throttle_excess_wait_seconds_count');

  return {
    rows: [
      ['limit', `${limit.rate}/s, burst ${limit.burst}; ${dispatchers} dispatchers, ${seconds} s`],
      ['offered', `${(limit.rate * 1.2).toFixed(0)}/s, ${total} in all`],
      [
        'most above rate × t + burst in any window, deliveries',
        withTarget(excess.toFixed(2), 'none (an arrival jitters by some ms: under 1)', excess < 1),
      ],
      ['  the same by when each was begun, as the log has it', excessBegun.toFixed(2)],
      ['share of the rate used', withTarget(`${(used * 100).toFixed(1)} %`, 'at least 98 %', used >= 0.98)],
      ['wait beyond its moment, mean', `${((excessSum / excessCount) * 1_000).toFixed(1)} ms of ${excessCount}`],
      ['limit lifted: the rest delivered', `${received - before} in ${liftedSeconds.toFixed(2)} s`],
      ['lost', withTarget(String(total - received), 'none', received === total)],
      ['parked', `${parked} in ${parkSeconds.toFixed(1)} s`],
      ['parking, deliveries/s', withTarget(parkRate.toFixed(0), 'at least 3000', parkRate >= 3_000)],
    ],
    figures: {
      limit,
      dispatchers,
      seconds,
      total,
      inWindow,
      used,
      excess,
      excessBegun,
      liftedSeconds,
      parked,
      parkSeconds,
      parkRate,
    },
  };
}

/** How far any window [a, b] of arrivals exceeds rate × (b − a) + burst: one pass, keeping the emptiest beginning. */
function largestExcess(arrivals: number[]): number {
  let least = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  for (const [index, at] of arrivals.entries()) {
    const entitled = (at / 1_000) * limit.rate;
    least = Math.min(least, index - entitled);
    largest = Math.max(largest, index + 1 - entitled - least - limit.burst);
  }
  return largest;
}
