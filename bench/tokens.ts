/**
 * What tokens cost: a machine's JWT, compared with bare oidc-provider in the same run; a code with PKCE for somebody with a session; passwords
 * while machines continue; SQL statements of a flow; memory after all of it.
 */
import { type BenchGate, openBenchGate } from './bench-gate.ts';
import type { FlowLoad, FlowReport } from './flow-load.ts';
import { machineForm, passwordForms, people } from './gate-seed.ts';
import type { Load, LoadReport } from './http-load.ts';
import type { Result } from './main.ts';
import { cpuSeconds, cpuSecondsOf, memoryOf } from './processes.ts';
import { publishedProvider } from './published.ts';
import { ms, quantile, withTarget } from './quantile.ts';
import { runLoad } from './run-load.ts';
import { codeForm, logIn, signInWithSession, ssoPath } from './sso.ts';
import { startBare } from './start-bare.ts';
import { openStatementCounter } from './statement-counter.ts';

const connections = 32;
const bars = { perSecond: 3_000, ofBare: 0.7, p99: 50, flows: 400, ssoSql: 4, loginSql: 5, logins: 40, rssMb: 200 };
/** A little above the target: the measurement shows that tokens do not suffer from it. */
const loginsOffered = 50;
/** Tokens per second meanwhile: well below the maximum, since near it p99 reflects the queue, not the logins. */
const tokensOffered = 1_000;
const counted = 20;

/**
 * `seconds` of each load; `events`: the least number of SSO flows, after which memory is measured; `rate`: tokens per second beside the
 * password logins.
 */
export async function tokens(options: Record<string, string | undefined>): Promise<Result> {
  const seconds = Number(options.seconds ?? 15);
  const flows = Number(options.events ?? 0);
  const rate = Number(options.rate ?? tokensOffered);
  await using gate = await openBenchGate();
  using bare = await startBare(publishedProvider());

  for (const port of [gate.port, bare.port]) await machines(port, gate.service.pid, Math.min(seconds, 5)); // warm up
  // Alternating, so that neither has the quieter machine.
  const bareRounds = [];
  const gateRounds = [];
  for (let round = 0; round < 2; round += 1) {
    bareRounds.push(await machines(bare.port, bare.pid, seconds / 2));
    gateRounds.push(await machines(gate.port, gate.service.pid, seconds / 2));
  }
  const ceiling = together(bareRounds);
  const machine = together(gateRounds);
  const ofBare = machine.perSecond / ceiling.perSecond;

  const sso = await measureSso(gate, seconds, flows);
  const [besides, logins] = await Promise.all([
    machines(gate.port, gate.service.pid, seconds, rate).then((round) => together([round])),
    passwords(gate.port, seconds),
  ]);
  const memory = memoryOf(gate.service.pid);
  const sql = await countStatements(gate);
  return {
    rows: [
      ['connections', String(connections)],
      ['client_credentials, ES256 JWT, audit log on'],
      [
        '  requests/s',
        withTarget(fixed(machine.perSecond), `≥ ${bars.perSecond}`, machine.perSecond >= bars.perSecond),
      ],
      ['  p50 / p99', withTarget(latencies(machine), `p99 < ${bars.p99} ms`, machine.p99 < bars.p99)],
      ['  CPU s per 1,000: gate / PostgreSQL', `${machine.cpu.toFixed(3)} / ${machine.postgres.toFixed(3)}`],
      ['  not 200', String(machine.failed)],
      ['bare oidc-provider in memory, the same'],
      ['  requests/s', fixed(ceiling.perSecond)],
      ['  p50 / p99', latencies(ceiling)],
      ['  CPU s per 1,000', ceiling.cpu.toFixed(3)],
      ['  not 200', String(ceiling.failed)],
      ['gate / bare, requests/s', withTarget(ofBare.toFixed(2), `≥ ${bars.ofBare}`, ofBare >= bars.ofBare)],
      ['SSO: code with PKCE, exchanged'],
      ['  flows/s', withTarget(fixed(sso.perSecond), `≥ ${bars.flows}`, sso.perSecond >= bars.flows)],
      ['  p50 / p99', latencies(sso)],
      ['  CPU s per 1,000: gate / PostgreSQL', `${sso.cpu.toFixed(3)} / ${sso.postgres.toFixed(3)}`],
      ['  failed', String(sso.failed)],
      [
        '  SQL statements a flow',
        withTarget(sql.sso.perFlow.toFixed(2), `≤ ${bars.ssoSql}`, sql.sso.perFlow <= bars.ssoSql),
      ],
      [
        'login: the same by a password on the hosted pages, SQL statements',
        withTarget(sql.login.perFlow.toFixed(2), `≤ ${bars.loginSql}`, sql.login.perFlow <= bars.loginSql),
      ],
      [
        `  written behind beside these (audit log, last logins), in all ${counted} + ${counted} flows`,
        `${sql.sso.writtenBehind} + ${sql.login.writtenBehind}`,
      ],
      [`password grants offered at ${loginsOffered}/s, client_credentials at ${rate}/s`],
      ['  logins/s', withTarget(logins.perSecond.toFixed(1), `≥ ${bars.logins}`, logins.perSecond >= bars.logins)],
      ['  p50 / p99', latencies(logins)],
      ['  not 200', String(logins.failed)],
      ['  client_credentials, requests/s', fixed(besides.perSecond)],
      ['  p50 / p99', withTarget(latencies(besides), `p99 < ${bars.p99} ms`, besides.p99 < bars.p99)],
      ['  not 200', String(besides.failed)],
      [
        `RSS gate after ${sso.flows.toLocaleString('en')} flows, peak / now`,
        withTarget(`${memory.peakMb} / ${memory.nowMb} MB`, `now < ${bars.rssMb} MB`, memory.nowMb < bars.rssMb),
      ],
    ].map(([what = '', value = '']): [string, string] => [what, value]),
    figures: { connections, bars, machine, ceiling, ofBare, sso, passwords: { logins, besides }, memory, sql },
  };
}

type Round = { report: LoadReport; cpu: number; postgres: number };
type Figures = { requests: number; failed: number; perSecond: number; p50: number; p99: number };

/** Machines ask for tokens, as fast as they are answered or at a steady rate. CPU seconds of the process and of PostgreSQL. */
async function machines(port: number, pid: number, seconds: number, rate?: number): Promise<Round> {
  const before = { cpu: cpuSeconds(pid), postgres: cpuSecondsOf('postgres') };
  const wanted: Load = {
    port,
    paths: ['/oauth/token'],
    forms: [machineForm],
    connections,
    seconds,
    ...(rate ? { rate } : {}),
  };
  const report = await runLoad<Load, LoadReport>('./http-load.ts', wanted);
  return { report, cpu: cpuSeconds(pid) - before.cpu, postgres: cpuSecondsOf('postgres') - before.postgres };
}

async function passwords(port: number, seconds: number): Promise<Figures> {
  const wanted: Load = {
    port,
    paths: ['/oauth/token'],
    forms: passwordForms,
    connections: 8,
    seconds,
    rate: loginsOffered,
  };
  return figuresOf([await runLoad<Load, LoadReport>('./http-load.ts', wanted)]);
}

/** Everybody logs in; then all return with their sessions as fast as they are answered. */
async function measureSso(gate: BenchGate, seconds: number, flows: number) {
  const cookies: string[] = [];
  for (const person of people.slice(0, connections))
    cookies.push((await logIn(gate.issuer, person)).cookieHeader(new URL(ssoPath, gate.issuer)));
  const wanted: FlowLoad = { port: gate.port, cookies, authorizePath: ssoPath, form: codeForm, seconds, flows };
  await runLoad<FlowLoad, FlowReport>('./flow-load.ts', { ...wanted, seconds: Math.min(seconds, 5), flows: 0 }); // warm up
  const before = { cpu: cpuSeconds(gate.service.pid), postgres: cpuSecondsOf('postgres') };
  const report = await runLoad<FlowLoad, FlowReport>('./flow-load.ts', wanted);
  const perThousand = 1_000 / report.flows;
  return {
    flows: report.flows,
    failed: report.failed,
    ...(report.failure ? { failure: report.failure } : {}),
    perSecond: (report.flows - report.failed) / report.seconds,
    p50: quantile(report.latencies, 0.5),
    p99: quantile(report.latencies, 0.99),
    cpu: (cpuSeconds(gate.service.pid) - before.cpu) * perThousand,
    postgres: (cpuSecondsOf('postgres') - before.postgres) * perThousand,
  };
}

/**
 * Flows one after another through a gate whose connection to PostgreSQL counts statements; its caches are warm. Delayed writes (the audit log,
 * last login times) are counted separately: at most four statements a second each, however many flows they cover.
 */
async function countStatements(gate: BenchGate) {
  await using counter = await openStatementCounter(gate.databaseUrl);
  const { issuer, service } = await gate.startAnother(counter.url);
  await using _ = service;
  const browser = await logIn(issuer, people[0]!);
  await signInWithSession(issuer, browser);
  const count = async (flow: (index: number) => Promise<unknown>) => {
    counter.take();
    for (let index = 0; index < counted; index += 1) await flow(index);
    await new Promise((resolve) => setTimeout(resolve, 500)); // delayed writes follow a moment later
    const statements = counter.take();
    const total = (list: [text: string, count: number][]) => list.reduce((sum, [, count]) => sum + count, 0);
    const [own, behind] = [false, true].map((wanted) =>
      [...statements].filter(([text]) => isWrittenBehind(text) === wanted),
    ) as [[string, number][], [string, number][]];
    return {
      flows: counted,
      perFlow: total(own) / counted,
      writtenBehind: total(behind),
      statements: Object.fromEntries(statements),
    };
  };
  return {
    sso: await count(() => signInWithSession(issuer, browser)),
    login: await count((index) => logIn(issuer, people[index % people.length]!)),
  };
}

const isWrittenBehind = (statement: string) => /^(INSERT INTO logs|WITH noted AS)\b/.test(statement);

function together(rounds: Round[]): Figures & { cpu: number; postgres: number } {
  const figures = figuresOf(rounds.map(({ report }) => report));
  const perThousand = (what: 'cpu' | 'postgres') =>
    (rounds.reduce((sum, round) => sum + round[what], 0) / figures.requests) * 1_000;
  return { ...figures, cpu: perThousand('cpu'), postgres: perThousand('postgres') };
}

function figuresOf(reports: LoadReport[]): Figures {
  const sum = (what: 'requests' | 'failed' | 'seconds') => reports.reduce((total, report) => total + report[what], 0);
  const all = reports.flatMap((report) => report.latencies);
  const [requests, failed] = [sum('requests'), sum('failed')];
  return {
    requests,
    failed,
    perSecond: (requests - failed) / sum('seconds'),
    p50: quantile(all, 0.5),
    p99: quantile(all, 0.99),
  };
}

const fixed = (value: number) => value.toFixed(0);
const latencies = ({ p50, p99 }: { p50: number; p99: number }) => `${ms(p50)} / ${ms(p99)}`;
