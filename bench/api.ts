/**
 * How fast the webhook API reads, with a full delivery log: lists of hooks, lists of deliveries, and a page answered with 304. With
 * `--beside FOLDER` another checkout's API (built there) is measured in turn on the same log, so that both have the same machine. With
 * `--profile y` each row instead says where the main thread's CPU time goes, as in profile.ts.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, inherited, type Service, startService } from '@gatepost/testkit/system';
import { openBenchSystem } from './bench-system.ts';
import { type FilledHook, fillLog } from './fill-log.ts';
import type { Load, LoadReport } from './http-load.ts';
import type { Result } from './main.ts';
import { cpuSeconds, cpuSecondsOf, memoryOf } from './processes.ts';
import { groupsOf, type Profile } from './profile.ts';
import { ms, quantile, withTarget } from './quantile.ts';
import { runLoad } from './run-load.ts';

const connections = 50;
const perSecondBar = 2_500;
const p99Bar = 20;
const rounds = 4;
/** Before a steady-rate round; otherwise the slowest hundredth would be its own start. */
const leadSeconds = 1;

type Api = { service: Service; port: number; profile: string | undefined };
type Sum = { requests: number; failed: number; seconds: number; latencies: number[] } & Record<CpuOf, number>;
type CpuOf = 'api' | 'postgres' | 'redis' | 'load';
const cpuOf: CpuOf[] = ['api', 'postgres', 'redis', 'load'];

/** `rows`: deliveries in the log; `rate`: of the steady rounds; `only`: parts of row names, separated by commas. */
export async function api(options: Record<string, string | undefined>): Promise<Result> {
  const deliveries = Number(options.rows ?? 10_000_000);
  const seconds = Number(options.seconds ?? 10);
  const rate = Number(options.rate ?? 1_500);
  const wanted = (options.only ?? '').split(',');

  const env = {
    RATE_LIMIT_PER_HOUR: '1000000000', // counted, but out of reach
    SECRETS_KEY: randomBytes(32).toString('base64'),
  };
  await using system = await openBenchSystem([{ login: 'acme' }], env);
  const { webhookApi, dispatcher, databaseUrl, amqpUrl, issuer } = system;
  await Promise.all([webhookApi.end('SIGTERM'), dispatcher.end('SIGTERM')]);
  const filledAt = performance.now();
  const { hooks } = await fillLog(databaseUrl, deliveries);
  const filledSeconds = (performance.now() - filledAt) / 1_000;
  const token = await system.token();
  const database = ` ${new URL(databaseUrl).pathname.slice(1)} `;

  async function startApi(checkout: string | undefined): Promise<Api> {
    const [port, opsPort] = (await freePorts(2)) as [number, number];
    const profile = options.profile ? mkdtempSync(join(tmpdir(), 'gatepost-profile-')) : undefined;
    const own = {
      ...inherited,
      ...env,
      LOG_LEVEL: 'info',
      GATEPOST_HOME: mkdtempSync(join(tmpdir(), 'gatepost-')),
      DATABASE_URL: databaseUrl,
      REDIS_URL: process.env.REDIS_URL ?? '',
      AMQP_URL: amqpUrl,
      ISSUER: issuer,
      WEBHOOK_API_PORT: String(port),
      WEBHOOK_API_OPS_PORT: String(opsPort),
      ...(profile && { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }),
    };
    return { service: await startService('webhook-api', own, opsPort, checkout), port, profile };
  }

  /** One round: as fast as answers come, or at a fixed rate. */
  async function measure({ service, port }: Api, requests: string[], wantedSeconds: number, at?: number): Promise<Sum> {
    const used = () => ({
      api: cpuSeconds(service.pid),
      postgres: cpuSecondsOf('postgres', database),
      redis: cpuSecondsOf('redis-server'),
    });
    const load: Load = { port, requests, paths: [], connections, seconds: wantedSeconds };
    const before = used();
    const report = await runLoad<Load, LoadReport>(
      './http-load.ts',
      at === undefined ? load : { ...load, rate: at, leadSeconds },
    );
    const after = used();
    return {
      ...report,
      api: after.api - before.api,
      postgres: after.postgres - before.postgres,
      redis: after.redis - before.redis,
      load: report.cpuSeconds,
    };
  }

  const checkouts = [...(options.beside ? [options.beside] : []), undefined];
  const rows: Result['rows'] = [
    ['deliveries in the log', `${deliveries.toLocaleString('en')}, written in ${filledSeconds.toFixed(0)} s`],
    ['hooks, connections', `${hooks.length.toLocaleString('en')}, ${connections}`],
  ];
  const figures: Record<string, unknown> = { deliveries, hooks: hooks.length, connections, rate };
  const kinds = Object.entries(requestsOf(hooks, token)).filter(([name]) => wanted.some((part) => name.includes(part)));

  if (options.profile) {
    for (const [name, requests] of kinds)
      for (const checkout of checkouts) {
        const one = await startApi(checkout);
        await measure(one, requests, 2); // warm up
        const from = Number(process.hrtime.bigint() / 1_000n);
        const { requests: answered } = await measure(one, requests, seconds);
        const to = Number(process.hrtime.bigint() / 1_000n);
        await one.service.end('SIGTERM');
        const { busySeconds, groups } = readProfile(one.profile!, from, to);
        const perThousand = (busy: number) => ((busy / answered) * 1_000).toFixed(3);
        rows.push([`${name}${checkout ? ', before' : ''}`, `busy s per 1,000: ${perThousand(busySeconds)}`]);
        for (const [group, busy] of groups.slice(0, 20))
          rows.push([`  ${group}`, `${((busy / busySeconds) * 100).toFixed(1)} %  ${perThousand(busy)}`]);
        figures[`${name} ${checkout ?? ''}`] = { answered, busySeconds, groups: Object.fromEntries(groups) };
      }
    return { rows, figures };
  }

  await using stack = new AsyncDisposableStack();
  const apis: Api[] = [];
  for (const checkout of checkouts) {
    const one = await startApi(checkout);
    stack.use(one.service);
    apis.push(one);
  }
  if (options.beside) rows.push(['', 'before  |  now']);
  const tell = (what: string, each: string[]) => rows.push([what, each.join('  |  ')]);
  for (const [name, requests] of kinds) {
    for (const one of apis) await measure(one, requests, 3); // warm up
    const steady = apis.map(nothing);
    const full = apis.map(nothing);
    for (let round = 0; round < rounds; round += 1)
      for (const [index, one] of apis.entries()) {
        add(steady[index]!, await measure(one, requests, seconds / rounds, rate));
        add(full[index]!, await measure(one, requests, seconds / rounds));
      }
    const shown = { steady: steady.map(summary), full: full.map(summary) };
    tell(
      `${name} at ${rate}/s: p50 / p95 / p99`,
      shown.steady.map((one) => withTarget(latencies(one), `p99 < ${p99Bar} ms`, one.p99 < p99Bar)),
    );
    tell(
      '  as fast as it answers, requests/s',
      shown.full.map((one) => withTarget(one.perSecond.toFixed(0), `≥ ${perSecondBar}`, one.perSecond >= perSecondBar)),
    );
    tell('  p50 / p95 / p99', shown.full.map(latencies));
    tell(
      '  CPU s per 1,000: webhook-api / PostgreSQL / Redis / who asks',
      shown.full.map(({ cpu }) => cpuOf.map((who) => cpu[who].toFixed(3)).join(' / ')),
    );
    tell(
      '  not as expected',
      [...shown.steady, ...shown.full].map(({ failed }) => String(failed)),
    );
    figures[name] = shown;
  }
  const memories = apis.map(({ service }) => memoryOf(service.pid));
  tell(
    'RSS webhook-api, peak / now',
    memories.map(({ peakMb, nowMb }) => `${peakMb} / ${nowMb} MB`),
  );
  return { rows, figures: { ...figures, memories } };
}

/** The requests of each kind, as written to the socket. */
function requestsOf(hooks: FilledHook[], token: string): Record<string, string[]> {
  const get = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const each = (path: (hook: FilledHook) => string) => hooks.map((hook) => get(`/repos/acme/${path(hook)}`));
  return {
    'GET …/hooks': each(({ repository }) => `${repository}/hooks`),
    'GET …/hooks/{id}': each(({ repository, id }) => `${repository}/hooks/${id}`),
    'GET …/deliveries': each(({ repository, id }) => `${repository}/hooks/${id}/deliveries`),
    'GET …/deliveries?status=failure': each(
      ({ repository, id }) => `${repository}/hooks/${id}/deliveries?status=failure`,
    ),
  };
}

const nothing = (): Sum => ({
  requests: 0,
  failed: 0,
  seconds: 0,
  latencies: [],
  api: 0,
  postgres: 0,
  redis: 0,
  load: 0,
});

function add(sum: Sum, more: Sum): void {
  for (const what of ['requests', 'failed', 'seconds', ...cpuOf] as const) sum[what] += more[what];
  sum.latencies = sum.latencies.concat(more.latencies);
}

function summary({ requests, failed, seconds, latencies: all, ...used }: Sum) {
  return {
    requests,
    failed,
    perSecond: requests / seconds,
    p50: quantile(all, 0.5),
    p95: quantile(all, 0.95),
    p99: quantile(all, 0.99),
    cpu: Object.fromEntries(cpuOf.map((who) => [who, (used[who] / requests) * 1_000])) as Record<CpuOf, number>,
  };
}

function readProfile(folder: string, from: number, to: number) {
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  return groupsOf(JSON.parse(readFileSync(join(folder, file!), 'utf8')) as Profile, from, to);
}

const latencies = ({ p50, p95, p99 }: { p50: number; p95: number; p99: number }) =>
  `${ms(p50)} / ${ms(p95)} / ${ms(p99)}`;
