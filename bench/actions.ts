/**
 * What an action that does nothing adds to a sign-in and a refresh: two gates on the same stores, one of which has the action, asked in turn,
 * one flow after the other, so that latency is measured and not queueing.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBenchGate, type RunningGate } from './bench-gate.ts';
import type { FlowLoad, FlowReport } from './flow-load.ts';
import { people } from './gate-seed.ts';
import type { Result } from './main.ts';
import { cpuSeconds } from './processes.ts';
import { ms, quantile, withTarget } from './quantile.ts';
import { runLoad } from './run-load.ts';
import { codeForm, keepForm, keepPath, logIn, refreshForm, ssoPath, tokensOf } from './sso.ts';

/** Additional milliseconds at the median. */
const bar = 3;

type Round = { latencies: number[]; failed: number; failure?: string | undefined; cpu: number };

/** `seconds` of each round; `rounds`: pairs of rounds. */
export async function actions(options: Record<string, string | undefined>): Promise<Result> {
  const seconds = Number(options.seconds ?? 1);
  const rounds = Number(options.rounds ?? 20);
  await using stack = new AsyncDisposableStack();
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), 'gatepost-bench-')), (path) =>
    rmSync(path, { recursive: true }),
  );
  mkdirSync(join(folder, 'post-login'));
  writeFileSync(join(folder, 'post-login', 'empty.js'), 'exports.onExecutePostLogin = async (event, api) => {};');
  const plain = stack.use(await openBenchGate());
  const bound = await plain.startAnother(plain.databaseUrl, { ACTIONS_DIR: folder });
  stack.use(bound.service);
  const browser = await logIn(plain.issuer, people[0]!);
  const cookies = [browser.cookieHeader(new URL(ssoPath, plain.issuer))];

  const flow: Record<string, (gate: RunningGate) => Promise<Omit<FlowLoad, 'seconds' | 'port'>>> = {
    'SSO: code with PKCE, exchanged': async () => ({ cookies, authorizePath: ssoPath, form: codeForm }),
    'refresh with rotation': async ({ issuer }) => {
      const { refresh_token } = await tokensOf(issuer, browser, keepPath, keepForm);
      return { cookies, authorizePath: keepPath, form: keepForm, refreshForm, refreshTokens: [refresh_token!] };
    },
  };
  const rows: [string, string][] = [['pairs of rounds, seconds of each', `${rounds}, ${seconds}`]];
  const figures: Record<string, unknown> = { bar, rounds, seconds };
  for (const [what, wanted] of Object.entries(flow)) {
    const run = async (gate: RunningGate): Promise<Round> => {
      const load: FlowLoad = { ...(await wanted(gate)), port: gate.port, seconds };
      const before = cpuSeconds(gate.service.pid);
      const { latencies, failed, failure } = await runLoad<FlowLoad, FlowReport>('./flow-load.ts', load);
      return { latencies, failed, failure, cpu: cpuSeconds(gate.service.pid) - before };
    };
    const pairs: { without: Round; with: Round }[] = [];
    for (const gate of [plain, bound]) await run(gate); // warm up
    for (let round = 0; round < rounds; round += 1) {
      // Take turns at being first: background work left by one falls on the other.
      const order = round % 2 === 0 ? [plain, bound] : [bound, plain];
      const [first, second] = [await run(order[0]!), await run(order[1]!)];
      pairs.push(order[0] === plain ? { without: first, with: second } : { without: second, with: first });
    }
    const told = summaryOf(pairs);
    figures[what] = told;
    rows.push(
      [what, ''],
      ['  p50 / p99 without', `${ms(told.without.p50)} / ${ms(told.without.p99)}`],
      ['  p50 / p99 with an empty action', `${ms(told.with.p50)} / ${ms(told.with.p99)}`],
      [
        '  p50 more, median of the pairs (quartiles)',
        withTarget(
          `${told.more.median.toFixed(2)} ms (${told.more.lower.toFixed(2)}, ${told.more.upper.toFixed(2)})`,
          `< ${bar} ms`,
          told.more.median < bar,
        ),
      ],
      ['  CPU s of the gate per 1,000: without, with', `${told.without.cpu.toFixed(2)}, ${told.with.cpu.toFixed(2)}`],
      ['  failed', `${told.failed}${told.failure ? ` (${told.failure})` : ''}`],
    );
  }
  return { rows, figures };
}

function summaryOf(pairs: { without: Round; with: Round }[]) {
  const all = (of: 'without' | 'with') => {
    const latencies = pairs.flatMap((pair) => pair[of].latencies);
    const cpu = (pairs.reduce((sum, pair) => sum + pair[of].cpu, 0) / latencies.length) * 1_000;
    return { flows: latencies.length, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), cpu };
  };
  const more = pairs.map((pair) => quantile(pair.with.latencies, 0.5) - quantile(pair.without.latencies, 0.5));
  const rounds = pairs.flatMap((pair) => [pair.without, pair.with]);
  return {
    without: all('without'),
    with: all('with'),
    more: { median: quantile(more, 0.5), lower: quantile(more, 0.25), upper: quantile(more, 0.75) },
    failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
    failure: rounds.find(({ failure }) => failure)?.failure,
  };
}
