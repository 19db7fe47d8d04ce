/**
 * What each kind of request costs the gate: requests per second, and CPU seconds per 1,000 of the gate and of PostgreSQL's backends. With
 * `--beside FOLDER` another checkout's gate (built there) is asked in turn, so that both have the same machine.
 */
import { randomUUID, sign } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from '@gatepost/testkit/browser';
import pg from 'pg';
import { type BenchGate, openBenchGate } from './bench-gate.ts';
import type { FlowLoad, FlowReport } from './flow-load.ts';
import { api, keys, machineForm, modern, passwordForms, people, server, signer } from './gate-seed.ts';
import type { Load, LoadReport } from './http-load.ts';
import type { Result } from './main.ts';
import { cpuSeconds, cpuSecondsOf, memoryOf } from './processes.ts';
import { groupsOf, type Profile } from './profile.ts';
import { publishedProvider } from './published.ts';
import { ms, quantile } from './quantile.ts';
import { runLoad } from './run-load.ts';
import { codeForm, keepForm, keepPath, logIn, modernForm, modernPath, refreshForm, ssoPath, tokensOf } from './sso.ts';
import { startBare } from './start-bare.ts';

const connections = 32;
/** Each person has a session, shared by two connections. */
const loggedIn = 16;
/** How many single-use signatures to prepare: more than a gate answers in a second. */
const signedPerSecond = 5_000;

const bareRow = 'client_credentials by bare oidc-provider, in memory';
const patchedRow = 'the same, patched as ours';
const ordinaryRow = 'client_credentials beside it';

type Figures = {
  requests: number;
  failed: number;
  seconds: number;
  latencies: number[];
  cpu: number;
  postgres: number;
};
type Drive = (seconds: number) => Promise<{ requests: number; failed: number; seconds: number; latencies: number[] }>;

/**
 * `seconds` of each row and gate, in `rounds` turns; `starts`: how often both are restarted, since two processes of the same commit differ by
 * up to a tenth; `only`: parts of row names, separated by commas.
 */
export async function gate(options: Record<string, string | undefined>): Promise<Result> {
  const seconds = Number(options.seconds ?? 4);
  const wanted = (options.only ?? '').split(',');
  if (options.profile) return profiled(seconds, wanted, options.beside);
  const rounds = Number(options.rounds ?? 2);
  const turns: Record<string, Figures[][]> = {};
  const memories: string[] = [];
  for (let start = 0; start < Number(options.starts ?? 1); start += 1) {
    const { peaks, turns: more } = await oneStart(options.beside, wanted, seconds / rounds, rounds, start % 2 === 1);
    for (const [what, taken] of Object.entries(more)) turns[what] = [...(turns[what] ?? []), ...taken];
    memories.push(peaks);
  }
  const rows: [string, string][] = [
    ['', `${options.beside ? 'before | ' : ''}requests/s, p50 / p99, CPU s per 1,000: gate + PostgreSQL`],
  ];
  const figures: Record<string, object> = {};
  for (const [what, taken] of Object.entries(turns)) {
    const told = taken[0]!.map((_, index) => summary(together(taken.map((turn) => turn[index]!))));
    const ratios = taken
      .filter((turn) => turn.length === 2)
      .map(([before, now]) => perRequest(now!) / perRequest(before!));
    figures[what] = { told, ratios };
    rows.push([what, told.map(text).join('  |  ')]);
    if (ratios.length > 2)
      rows.push(['  CPU of the gate beside before, by turns: median (quartiles)', quartiles(ratios)]);
  }
  const [bare, ordinary] = [turns[bareRow], turns[ordinaryRow]];
  if (bare && ordinary) {
    const ofBare = bare.map((turn, index) => perRequest(turn.at(-1)!) / perRequest(ordinary[index]!.at(-1)!));
    figures.ofBare = { ofBare };
    rows.push([`CPU of bare oidc-provider beside “${ordinaryRow}”: median (quartiles)`, quartiles(ofBare)]);
  }
  rows.push(['RSS of the gate: peak / now', memories.join(';  ')]);
  return { rows, figures };
}

/** Figures by row, turn and gate: the other checkout's first, whichever of them began. */
async function oneStart(
  beside: string | undefined,
  wanted: string[],
  seconds: number,
  rounds: number,
  turned: boolean,
): Promise<{ turns: Record<string, Figures[][]>; peaks: string }> {
  await using stack = new AsyncDisposableStack();
  const inTurn = <T>(list: T[], other: boolean) => (other ? list.toReversed() : list);
  const bare: Bare = {
    [bareRow]: stack.use(await startBare(publishedProvider())),
    [patchedRow]: stack.use(await startBare('oidc-provider')),
  };
  const gates: Ready[] = [];
  for (const checkout of inTurn([...(beside ? [beside] : []), undefined], turned))
    gates.push(await ready(stack.use(await openBenchGate({ checkout })), bare));
  const names = namesOf(gates[0]!.drives, wanted);
  for (const what of names) for (const each of gates) await each.drives[what]!(Math.min(1, seconds)); // warm up
  const turns: Record<string, Figures[][]> = Object.fromEntries(names.map((what) => [what, []]));
  // All rows in each round, so that what the machine does in between meets all of them.
  for (let round = 0; round < rounds; round += 1)
    for (const what of names) {
      const other = round % 2 === 1;
      const taken: Figures[] = [];
      for (const each of inTurn(gates, other)) taken.push(await measured(each, what, seconds));
      turns[what]!.push(inTurn(taken, other !== turned));
      console.error(what, taken.map((each) => text(summary(each))).join('  |  '));
    }
  return {
    turns,
    peaks: inTurn(gates, turned)
      .map(({ gate: { service } }) => memory(service.pid))
      .join('  |  '),
  };
}

const perRequest = ({ cpu, requests }: Figures) => cpu / requests;

function quartiles(ratios: number[]): string {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => `${((quantile(ratios, part) - 1) * 100).toFixed(1)} %`);
  return `${middle} (${low} to ${high}), ${ratios.length} turns`;
}

/** Where the main thread's CPU time goes in each row, as in profile.ts. A process per row, whose profile begins before the load. */
async function profiled(seconds: number, wanted: string[], checkout: string | undefined): Promise<Result> {
  const rows: [string, string][] = [];
  const figures: Record<string, object> = {};
  let names: string[] | undefined;
  for (let index = 0; names === undefined || index < names.length; index += 1) {
    const folder = mkdtempSync(join(tmpdir(), 'gatepost-profile-'));
    await using opened = await openBenchGate({
      checkout,
      env: { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` },
    });
    const { gate, drives } = await ready(opened);
    names ??= namesOf(drives, wanted);
    const what = names[index];
    if (what === undefined) break;
    await drives[what]!(2); // warm up
    const from = Number(process.hrtime.bigint() / 1_000n);
    const { requests } = await drives[what]!(seconds);
    const to = Number(process.hrtime.bigint() / 1_000n);
    await gate.service.end('SIGTERM');
    const [file] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
    const { busySeconds, groups } = groupsOf(
      JSON.parse(readFileSync(join(folder, file!), 'utf8')) as Profile,
      from,
      to,
    );
    rows.push([what, `busy s per 1,000: ${((busySeconds / requests) * 1_000).toFixed(3)}`]);
    for (const [group, busy] of groups.slice(0, 20))
      rows.push([
        `  ${group}`,
        `${((busy / busySeconds) * 100).toFixed(1)} %  ${((busy / requests) * 1_000).toFixed(3)}`,
      ]);
    figures[what] = { requests, busySeconds, groups: Object.fromEntries(groups), file: join(folder, file!) };
  }
  return { rows, figures };
}

const namesOf = (drives: Ready['drives'], wanted: string[]) =>
  Object.keys(drives).filter((row) => wanted.some((part) => row.includes(part)));

const memory = (pid: number) => `${memoryOf(pid).peakMb} / ${memoryOf(pid).nowMb} MB`;

type Process = { port: number; pid: number };
/** By row. */
type Bare = Record<string, Process>;
type Ready = { gate: BenchGate; database: string; drives: Record<string, Drive>; bare: Bare };

/** Logs everybody in, and gets the tokens for introspection. */
async function ready(gate: BenchGate, bare: Bare = {}): Promise<Ready> {
  const { issuer, port, databaseUrl } = gate;
  await useEs256(databaseUrl);
  const browsers: Browser[] = [];
  for (const person of people.slice(0, loggedIn)) browsers.push(await logIn(issuer, person));
  const cookies = twice(browsers.map((browser) => browser.cookieHeader(new URL(ssoPath, issuer))));
  const opaquePath = ssoPath.replace(/audience=[^&]*/, `audience=${encodeURIComponent(`${issuer}userinfo`)}`);
  const tokens = await Promise.all(
    browsers.map(async (browser) => ({
      jwt: (await tokensOf(issuer, browser, ssoPath, codeForm)).access_token,
      opaque: (await tokensOf(issuer, browser, opaquePath, codeForm)).access_token,
    })),
  );
  const asked =
    (load: Partial<Load>): Drive =>
    (seconds) =>
      runLoad<Load, LoadReport>('./http-load.ts', { port, paths: [], connections, seconds, ...load });
  const flow =
    (load: Partial<FlowLoad>): Drive =>
    async (seconds) => {
      const all: FlowLoad = { port, cookies, authorizePath: ssoPath, form: codeForm, seconds, ...load };
      const { flows, failure, ...report } = await runLoad<FlowLoad, FlowReport>('./flow-load.ts', all);
      if (failure) console.error(failure);
      return { ...report, requests: flows };
    };
  const post = (path: string, body: string, head: Record<string, string> = {}) => {
    const type = { 'Content-Type': 'application/x-www-form-urlencoded', ...head };
    const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...type, 'Content-Length': Buffer.byteLength(body) });
    return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
  };
  const get = (path: string, token: string) =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const bySecret = { client_id: server.client_id, client_secret: server.client_secret };
  const introspect = (token: string) =>
    post('/oauth/introspect', new URLSearchParams({ ...bySecret, token }).toString());
  const once =
    (make: () => string): Drive =>
    (seconds) =>
      asked({ once: true, requests: Array.from({ length: seconds * signedPerSecond }, make) })(seconds);
  const drives: Record<string, Drive> = {
    'client_credentials on the fast path': asked({ paths: ['/oauth/token'], forms: [machineForm] }),
    [ordinaryRow]: asked({ paths: ['/oauth/token'], forms: [`${machineForm}&colour=green`] }),
    ...Object.fromEntries(
      Object.entries(bare).map(([row, own]) => [
        row,
        asked({ port: own.port, paths: ['/oauth/token'], forms: [machineForm] }),
      ]),
    ),
    'client_credentials as JSON': asked({
      requests: [
        post('/oauth/token', JSON.stringify(Object.fromEntries(new URLSearchParams(machineForm))), {
          'Content-Type': 'application/json',
        }),
      ],
    }),
    'client_credentials by private_key_jwt': once(() => post('/oauth/token', assertionForm(issuer))),
    'client_credentials with DPoP': once(() => post('/oauth/token', machineForm, { DPoP: proof(issuer) })),
    'SSO by code and PKCE, ID token RS256': flow({}),
    'SSO by code and PKCE, ID token ES256': flow({ authorizePath: modernPath, form: modernForm }),
    'refresh with rotation': async (seconds) => {
      const kept = await Promise.all(twice(browsers).map((browser) => tokensOf(issuer, browser, keepPath, keepForm)));
      return flow({ refreshForm, refreshTokens: kept.map(({ refresh_token }) => refresh_token!) })(seconds);
    },
    'userinfo, JWT': asked({ requests: tokens.map(({ jwt }) => get('/userinfo', jwt)) }),
    'userinfo, opaque': asked({ requests: tokens.map(({ opaque }) => get('/userinfo', opaque)) }),
    'introspection, JWT': asked({ requests: tokens.map(({ jwt }) => introspect(jwt)) }),
    'password logins': asked({ paths: ['/oauth/token'], forms: passwordForms, connections: 8 }),
  };
  return { gate, database: new URL(databaseUrl).pathname.slice(1), drives, bare };
}

async function measured({ gate, database, drives, bare }: Ready, what: string, seconds: number): Promise<Figures> {
  const { pid } = bare[what] ?? gate.service;
  const cpu = () => ({ gate: cpuSeconds(pid), postgres: cpuSecondsOf('postgres', ` ${database} `) });
  const before = cpu();
  const report = await drives[what]!(seconds);
  const after = cpu();
  return { ...report, cpu: after.gate - before.gate, postgres: after.postgres - before.postgres };
}

function together(list: Figures[]): Figures {
  const sum = (what: 'requests' | 'failed' | 'seconds' | 'cpu' | 'postgres') =>
    list.reduce((total, each) => total + each[what], 0);
  return {
    requests: sum('requests'),
    failed: sum('failed'),
    seconds: sum('seconds'),
    latencies: list.flatMap(({ latencies }) => latencies),
    cpu: sum('cpu'),
    postgres: sum('postgres'),
  };
}

function summary({ requests, failed, seconds, latencies, cpu, postgres }: Figures) {
  const perThousand = 1_000 / requests;
  return {
    perSecond: (requests - failed) / seconds,
    failed,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    cpu: cpu * perThousand,
    postgres: postgres * perThousand,
  };
}

const text = ({ perSecond, failed, p50, p99, cpu, postgres }: ReturnType<typeof summary>) =>
  `${perSecond.toFixed(0)}/s, ${ms(p50)} / ${ms(p99)}, ${cpu.toFixed(3)} + ${postgres.toFixed(3)} s${failed > 0 ? `, FAILED ${failed}` : ''}`;

async function useEs256(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `UPDATE auth.clients SET oidc_metadata = '{"id_token_signed_response_alg":"ES256"}' WHERE client_id = $1`,
    [modern.client_id],
  );
  await client.end();
}

const twice = <T>(list: T[]): T[] => [...list, ...list];
const now = () => Math.floor(Date.now() / 1_000);
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

function jws(header: object, payload: object): string {
  const data = `${encoded({ alg: 'ES256', ...header })}.${encoded(payload)}`;
  const signature = sign('sha256', Buffer.from(data), { key: keys.privateKey, dsaEncoding: 'ieee-p1363' });
  return `${data}.${signature.toString('base64url')}`;
}

/** A machine's token request with an assertion (RFC 7523). */
function assertionForm(issuer: string): string {
  const { client_id } = signer;
  const claims = { iss: client_id, sub: client_id, aud: issuer, jti: randomUUID(), iat: now(), exp: now() + 300 };
  return new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: jws({ kid: 'bench' }, claims),
    resource: api,
  }).toString();
}

/** A proof of possession for one token request (RFC 9449). */
function proof(issuer: string): string {
  const claims = { jti: randomUUID(), htm: 'POST', htu: `${issuer}oauth/token`, iat: now() };
  return jws({ typ: 'dpop+jwt', jwk: keys.jwk }, claims);
}
