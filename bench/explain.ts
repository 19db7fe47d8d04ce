/**
 * How soon the webhook API explains a delivery, with a full log and as many events: one that was delivered, one in a long queue, and one that
 * was never made. Reuses a database filled by an earlier run. `only`: rows whose names contain this.
 */
import pg from 'pg';
import { openBenchSystem } from './bench-system.ts';
import { fillEvents, fillWaiting } from './fill-events.ts';
import { fillLog } from './fill-log.ts';
import type { Load, LoadReport } from './http-load.ts';
import type { Result } from './main.ts';
import { cpuSeconds, cpuSecondsOf } from './processes.ts';
import { ms, quantile, withTarget } from './quantile.ts';
import { runLoad } from './run-load.ts';

const connections = 20;
const p99Bar = 20;
const waitingCount = 100_000;
const sampled = 20_000;
/** For compiling service and client and opening connections: a hundredth of the requests is fewer than arrive in 100 ms. */
const leadSeconds = 5;

export async function explain(options: Record<string, string | undefined>): Promise<Result> {
  const deliveries = Number(options.rows ?? 10_000_000);
  const seconds = Number(options.seconds ?? 20);
  const rate = Number(options.rate ?? 300);

  await using system = await openBenchSystem([{ login: 'acme' }], {
    RATE_LIMIT_PER_HOUR: '1000000000',
    SECRETS_KEY: Buffer.alloc(32, 'bench').toString('base64'), // that of the run that filled the database
  });
  await system.dispatcher.end('SIGTERM');
  const { databaseUrl, webhookApi } = system;
  const filledAt = performance.now();
  if (!(await isFilled(databaseUrl))) {
    const { hooks } = await fillLog(databaseUrl, deliveries);
    await fillEvents(databaseUrl);
    await fillWaiting(databaseUrl, hooks[0]!.id, waitingCount);
    await query(databaseUrl, 'CHECKPOINT'); // so that the filled data is not written out during the measurement
  }
  const filledSeconds = (performance.now() - filledAt) / 1_000;
  const token = await system.token();
  const port = Number(new URL(system.apiUrl).port);
  const rows: Result['rows'] = [
    ['deliveries in the log, each with its event', deliveries.toLocaleString('en')],
    ['  written in', `${filledSeconds.toFixed(0)} s`],
    ['deliveries that wait for one limit', waitingCount.toLocaleString('en')],
    ['connections; requests/s', `${connections}; ${rate}`],
  ];
  const figures: Record<string, unknown> = { deliveries, waiting: waitingCount, connections, rate };
  for (const [name, paths] of Object.entries(await samplePaths(databaseUrl))) {
    if (options.only && !name.includes(options.only)) continue;
    const before = { api: cpuSeconds(webhookApi.pid), postgres: cpuSecondsOf('postgres') };
    const load: Load = { port, token, paths, connections, rate, seconds, leadSeconds };
    const report = await runLoad<Load, LoadReport>('./http-load.ts', load);
    const asked = report.requests * ((leadSeconds + seconds) / seconds);
    const perThousand = {
      api: ((cpuSeconds(webhookApi.pid) - before.api) / asked) * 1_000,
      postgres: ((cpuSecondsOf('postgres') - before.postgres) / asked) * 1_000,
    };
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(report.latencies, share)) as [
      number,
      number,
      number,
    ];
    rows.push(
      [name, withTarget(`p50 / p95 / p99 ${ms(p50)} / ${ms(p95)} / ${ms(p99)}`, `p99 < ${p99Bar} ms`, p99 < p99Bar)],
      [
        '  not 200; CPU s per 1,000: webhook-api / PostgreSQL',
        `${report.failed}; ${perThousand.api.toFixed(3)} / ${perThousand.postgres.toFixed(3)}`,
      ],
    );
    figures[name] = { p50, p95, p99, failed: report.failed, requests: report.requests, cpu: perThousand };
  }
  return { rows, figures };
}

async function isFilled(databaseUrl: string): Promise<boolean> {
  const rows = await query(databaseUrl, 'SELECT FROM deliveries LIMIT 1');
  return rows.length > 0;
}

/** Requests for randomly drawn rows. */
async function samplePaths(databaseUrl: string): Promise<Record<string, string[]>> {
  const log = await query<{ id: string; guid: string; hook: number; repository: string; other: number }>(
    databaseUrl,
    `SELECT d.id, d.guid, h.id AS hook, r.name AS repository, (SELECT o.id FROM hooks o WHERE o.repository_id = r.id AND o.id <> h.id LIMIT 1) AS other
       FROM (SELECT (1 + floor(random() * (SELECT max(id) FROM deliveries)))::bigint AS id FROM generate_series(1, ${sampled})) s
       JOIN deliveries d ON d.id = s.id JOIN hooks h ON h.id = d.hook_id JOIN repositories r ON r.id = h.repository_id`,
  );
  const waiting = await query<{ id: string; hook: number; repository: string }>(
    databaseUrl,
    `SELECT p.delivery_id AS id, h.id AS hook, r.name AS repository
       FROM parked p JOIN hooks h ON h.id = substring(p.job from '"hookId":(\\d+)')::integer JOIN repositories r ON r.id = h.repository_id
      ORDER BY random() LIMIT ${sampled}`,
  );
  const hook = ({ repository, hook }: { repository: string; hook: number }) =>
    `/repos/acme/${repository}/hooks/${hook}`;
  return {
    'by delivery: it was delivered, or failed': log.map((row) => `${hook(row)}/deliveries/${row.id}/explain`),
    'by guid: the same': log.map((row) => `${hook(row)}/explain?guid=${row.guid}`),
    'by guid: never made': log.map((row) => `${hook({ ...row, hook: row.other })}/explain?guid=${row.guid}`),
    'by delivery: it waits for its limit': waiting.map((row) => `${hook(row)}/deliveries/${row.id}/explain`),
    'of an account: all hooks of the place': log.map(({ guid }) => `/accounts/acme/events/${guid}/explain`),
  };
}

async function query<Row extends object>(databaseUrl: string, text: string): Promise<Row[]> {
  const database = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=webhooks' });
  await database.connect();
  try {
    return (await database.query<Row>(text)).rows;
  } finally {
    await database.end();
  }
}
