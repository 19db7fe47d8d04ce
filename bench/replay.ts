/**
 * A hook's whole log is replayed while fresh events go to the same hook: are these delayed, compared with times without a replay? Only the
 * payloads of fresh events say when they were sent, which tells them apart.
 */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import pg from 'pg';
import { openBenchSystem } from './bench-system.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { withTarget as judged, ms, quantile } from './quantile.ts';
import type { Report } from './receiver.ts';
import { secret, startReceiver } from './receiver-process.ts';

export async function replay(options: Record<string, string | undefined>): Promise<Result> {
  const deliveries = Number(options.events ?? 100_000);
  const rate = Number(options.rate ?? 100);
  const rounds = Number(options.rounds ?? 5);
  const seconds = Number(options.seconds ?? 20);
  await using system = await openBenchSystem([{ login: 'acme', throttle: { rate: 1e6, burst: 1e6 } }]);
  using receiver = await startReceiver();
  const api = await openApi(system);
  const hook = await api.createHook({ url: receiver.url, secret });
  await fill(system.databaseUrl, hook, deliveries);

  await using producer = await openProducer(system.amqpUrl);
  const measure = async (forSeconds: number): Promise<Measured> => {
    await receiver.ask('reset');
    const total = Math.ceil(rate * forSeconds);
    const published = await offer(producer, { rate, total, subjects: ['acme/widgets'] });
    const report = () => receiver.ask<Report>('report');
    const deadline = performance.now() + 10_000;
    let latest = await report();
    while (latest.latencies.length < published && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      latest = await report();
    }
    const { latencies } = latest;
    return { latencies, lost: published - latencies.length };
  };
  await measure(5); // warm up

  const replays = `/repos/acme/widgets/hooks/${hook}/deliveries/replays`;
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const without: Measured[] = [];
  const during: Measured[] = [];
  const replayed: Replay[] = [];
  // Alternating, so that the machine's own changes are not mistaken for effects of the replay.
  for (let round = 0; round < rounds; round += 1) {
    without.push(await measure(seconds));
    const { id } = (await api.call('POST', replays, { since, status: 'all' })).body as Replay;
    const look = async () => (await api.call('GET', `${replays}/${id}`)).body as Replay;
    while ((await look()).state === 'counting') await new Promise((resolve) => setTimeout(resolve, 100));
    during.push(await measure(seconds));
    replayed.push(await look());
    await api.call('DELETE', `${replays}/${id}`);
    await new Promise((resolve) => setTimeout(resolve, 2_000)); // until deliveries in progress end
  }
  const alone = summarize(without);
  const beside = summarize(during);
  const lost = [...without, ...during].reduce((sum, round) => sum + round.lost, 0);
  const done = replayed.reduce((sum, replay) => sum + replay.done, 0);
  const failed = replayed.reduce((sum, replay) => sum + replay.failed, 0);

  const ratio = beside.p99 / alone.p99;
  return {
    rows: [
      ['deliveries in the log', String(replayed[0]?.total)],
      [`fresh events to the same hook, ${rate}/s, alone: p50 / p99`, `${ms(alone.p50)} / ${ms(alone.p99)}`],
      ['  beside the replay: p50 / p99', `${ms(beside.p50)} / ${ms(beside.p99)}`],
      ['  p99 beside / alone', judged(`${ratio.toFixed(2)} ×`, 'at most 1.5 ×', ratio <= 1.5)],
      ['  lost', judged(String(lost), 'none', lost === 0)],
      [
        `  p99 of each of ${rounds} × ${seconds} s, alone`,
        without.map((round) => ms(summarize([round]).p99)).join(', '),
      ],
      ['  beside', during.map((round) => ms(summarize([round]).p99)).join(', ')],
      ['replayed', `${done}, ${(done / rounds / seconds).toFixed(0)}/s; ${failed} failed`],
    ],
    figures: { deliveries, rate, rounds, seconds, alone, beside, lost, ratio, done, failed },
  };
}

type Measured = { latencies: number[]; lost: number };

const summarize = (measured: Measured[]) => {
  const latencies = measured.flatMap((round) => round.latencies);
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
};

type Replay = { id: number; state: string; total: number | null; done: number; failed: number };

/** Writes deliveries of the last hour into the log. */
async function fill(databaseUrl: string, hookId: number, count: number): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=webhooks' });
  await database.connect();
  await database.query(
    `WITH e AS (
       INSERT INTO events (key, guid, source, event_id, type, account_id, repository_id, occurred_at, payload, hook_ids, delivery_ids, sequences, routed_at)
       SELECT gen_random_uuid(), gen_random_uuid(), 'urn:bench', n, 'push', h.account_id, h.repository_id, now(),
              convert_to('{"ref":"refs/heads/main","padding":"' || repeat('x', 1900) || '"}', 'UTF8'), ARRAY[h.id],
              ARRAY[nextval('delivery_ids')], ARRAY[n], now() FROM hooks h, generate_series(1, $2::int) n WHERE h.id = $1 RETURNING *
     ) INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on, event, attempt,
                               sequence, redelivery, status, status_code, duration_ms, timings, url, request_headers)
       SELECT delivery_ids[1], received_on, now(), $1, account_id, repository_id, guid, key, received_on, type, 1, sequences[1], false,
              'Timed out', 504, 1, '{}', 'http://127.0.0.2/', '{"Accept":"*/*"}' FROM e`,
    [hookId, count],
  );
  await database.query(
    'INSERT INTO hook_sequences (hook_id, last) VALUES ($1, $2) ON CONFLICT (hook_id) DO UPDATE SET last = $2',
    [hookId, count],
  );
  await database.query('CHECKPOINT');
  await database.end();
}
