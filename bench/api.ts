/** How fast the webhook API reads, with a full delivery log: lists of hooks, lists of deliveries, and one delivery. */
import { openBenchSystem } from './bench-system.ts';
import { fillLog } from './fill-log.ts';
import type { Load, LoadReport } from './http-load.ts';
import type { Result } from './main.ts';
import { cpuSeconds, cpuSecondsOf, memoryOf } from './processes.ts';
import { beside, ms, quantile } from './quantile.ts';
import { runLoad } from './run-load.ts';

const connections = 50;
const rateBar = 1_500;
const p99Bar = 20;

export async function api(options: Record<string, string | undefined>): Promise<Result> {
  const deliveries = Number(options.rows ?? 10_000_000);
  const seconds = Number(options.seconds ?? 15);
  const rate = Number(options.rate ?? rateBar);

  // Counted, but out of reach.
  await using system = await openBenchSystem([{ login: 'acme' }], { RATE_LIMIT_PER_HOUR: '1000000000' });
  await system.dispatcher.end('SIGTERM');
  const filledAt = performance.now();
  const filled = await fillLog(system.databaseUrl, deliveries);
  const token = await system.token();
  const port = Number(new URL(system.apiUrl).port);
  const paths = {
    'GET …/hooks': filled.hooks.map(({ repository }) => `/repos/acme/${repository}/hooks`),
    'GET …/deliveries': filled.hooks.map(({ repository, id }) => `/repos/acme/${repository}/hooks/${id}/deliveries`),
    'GET …/deliveries?status=failure': filled.hooks.map(
      ({ repository, id }) => `/repos/acme/${repository}/hooks/${id}/deliveries?status=failure`,
    ),
  };

  const rows: Result['rows'] = [
    ['deliveries in the log', deliveries.toLocaleString('en')],
    ['  written in', `${((performance.now() - filledAt) / 1_000).toFixed(0)} s`],
    ['hooks', filled.hooks.length.toLocaleString('en')],
    ['connections', String(connections)],
  ];
  const figures: Record<string, unknown> = { deliveries, hooks: filled.hooks.length, connections };
  for (const [name, list] of Object.entries(paths)) {
    await load({ port, token, paths: list, connections, seconds: 3 }); // warm up
    const steady = await measure({ port, token, paths: list, connections, seconds, rate });
    const full = await measure({ port, token, paths: list, connections, seconds });
    rows.push(
      [`${name} at ${rate}/s: p50 / p95 / p99`, beside(latencies(steady), `p99 < ${p99Bar} ms`, steady.p99 < p99Bar)],
      ['  not 200', String(steady.failed)],
      [
        '  as fast as it answers, requests/s',
        beside(full.perSecond.toFixed(0), `≥ ${rateBar}`, full.perSecond >= rateBar),
      ],
      ['  p50 / p95 / p99', latencies(full)],
      [
        '  CPU s per 1,000: webhook-api / PostgreSQL / Redis / who asks',
        [full.cpu.api, full.cpu.postgres, full.cpu.redis, full.cpu.load].map((value) => value.toFixed(3)).join(' / '),
      ],
    );
    figures[name] = { steady, full };
  }
  const memory = memoryOf(system.webhookApi.pid);
  rows.push(['RSS webhook-api, peak / now', `${memory.peakMb} / ${memory.nowMb} MB`]);
  return { rows, figures: { ...figures, memory } };

  async function measure(wanted: Load) {
    const used = () => ({
      api: cpuSeconds(system.webhookApi.pid),
      postgres: cpuSecondsOf('postgres'),
      redis: cpuSecondsOf('redis-server'),
    });
    const before = used();
    const report = await load(wanted);
    const after = used();
    const perThousand = (seconds: number) => (seconds / report.requests) * 1_000;
    const cpu = {
      api: perThousand(after.api - before.api),
      postgres: perThousand(after.postgres - before.postgres),
      redis: perThousand(after.redis - before.redis),
      load: perThousand(report.cpuSeconds),
    };
    return {
      requests: report.requests,
      failed: report.failed,
      perSecond: report.requests / report.seconds,
      p50: quantile(report.latencies, 0.5),
      p95: quantile(report.latencies, 0.95),
      p99: quantile(report.latencies, 0.99),
      cpu,
    };
  }
}

const latencies = ({ p50, p95, p99 }: { p50: number; p95: number; p99: number }) =>
  `${ms(p50)} / ${ms(p95)} / ${ms(p99)}`;

const load = (wanted: Load) => runLoad<Load, LoadReport>('./http-load.ts', wanted);
