/**
 * Whether the tables of tokens keep their size: people sign in and refresh as fast as they are answered, twice, with a pause between. Time is
 * compressed in storage, by a trigger that shortens the lifetime of every row as it is written; the gate and its purge are as in
 * production.
 */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type BenchGate, openBenchGate } from './bench-gate.ts';
import type { FlowLoad, FlowReport } from './flow-load.ts';
import { people } from './gate-seed.ts';
import type { Result } from './main.ts';
import { memoryOf } from './processes.ts';
import { withTarget } from './quantile.ts';
import { runLoad } from './run-load.ts';
import { keepForm, keepPath, logIn, refreshForm } from './sso.ts';

const connections = 32;
/** A grant's 38 days become a minute, a refresh token's 15 days 24 s. */
const compression = 54_720;
const bars = { growth: 1.1 };

/** `events`: flows of each of the two loads, at most as many as are done within a minute. */
export async function tokensSoak(options: Record<string, string | undefined>): Promise<Result> {
  const wanted = Number(options.events ?? 1_000);
  await using gate = await openBenchGate();
  const db = new pg.Client({ connectionString: gate.databaseUrl });
  await db.connect();
  await using _ = { [Symbol.asyncDispose]: () => db.end() };
  await compressTime(db);

  const empty = await sizeOf(db);
  const waves: Wave[] = [];
  for (let wave = 0; wave < 2; wave += 1) waves.push(await runWave(gate, db, wanted, empty.rows));
  const [first, second] = waves as [Wave, Wave];
  const growth = second.full.megabytes / first.full.megabytes;
  const memory = memoryOf(gate.service.pid);
  const rowsOf = (name: string, { flows, failed, seconds, full, after }: Wave): [string, string][] => [
    [
      `${name}: flows, each with a refresh, in ${seconds.toFixed(0)} s / failed`,
      `${flows.toLocaleString('en')} / ${failed}`,
    ],
    ['  rows and MB when the load ends', shown(full)],
    ['  rows and MB when all has expired', withTarget(shown(after), `${empty.rows} rows`, after.rows <= empty.rows)],
  ];
  return {
    rows: [
      [
        'compression',
        `${compression.toLocaleString('en')} ×: a second stands for ${(compression / 3_600).toFixed(0)} hours`,
      ],
      ['table of tokens: rows and MB before', shown(empty)],
      ...rowsOf('first load', first),
      ...rowsOf('second load', second),
      [
        'size after the second load / after the first',
        withTarget(growth.toFixed(2), `≤ ${bars.growth}`, growth <= bars.growth),
      ],
      ['RSS gate, peak / now', `${memory.peakMb} / ${memory.nowMb} MB`],
    ],
    figures: { compression, bars, empty, waves, growth, memory },
  };
}

type Size = { rows: number; dead: number; megabytes: number };
type Wave = { flows: number; failed: number; seconds: number; full: Size; after: Size };

async function compressTime(db: pg.Client): Promise<void> {
  await db.query(`
    CREATE FUNCTION auth.sooner() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.expires_at := now() + (NEW.expires_at - now()) / ${compression};
      RETURN NEW;
    END $$;
    CREATE TRIGGER sooner BEFORE INSERT ON auth.artefacts FOR EACH ROW EXECUTE FUNCTION auth.sooner()`);
}

/** Logs in again, since the previous wave's grants have expired, loads, and waits until the remains are purged and vacuumed. */
async function runWave(gate: BenchGate, db: pg.Client, wantedFlows: number, rowsBefore: number): Promise<Wave> {
  const cookies: string[] = [];
  for (const person of people.slice(0, connections))
    cookies.push((await logIn(gate.issuer, person)).cookieHeader(new URL(keepPath, gate.issuer)));
  const wanted: FlowLoad = {
    port: gate.port,
    cookies,
    authorizePath: keepPath,
    form: keepForm,
    refreshForm,
    seconds: 0,
    flows: wantedFlows,
  };
  const { flows, failed, seconds, failure } = await runLoad<FlowLoad, FlowReport>('./flow-load.ts', wanted);
  if (failure) console.error(`the first flow that failed was answered ${failure}`);
  const full = await sizeOf(db);
  const deadline = Date.now() + 300_000;
  while ((await sizeOf(db)).rows > rowsBefore && Date.now() < deadline) await pause(1_000);
  // As autovacuum would do in time: what the first one empties, the second makes available again.
  for (let time = 0; time < 2; time += 1) await db.query('VACUUM auth.artefacts');
  return { flows, failed, seconds, full, after: await sizeOf(db) };
}

async function sizeOf(db: pg.Client): Promise<Size> {
  const { rows } = await db.query<{ rows: string; dead: string; bytes: string }>(
    `SELECT (SELECT count(*) FROM auth.artefacts) AS rows, pg_total_relation_size('auth.artefacts') AS bytes,
       (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'auth.artefacts'::regclass) AS dead`,
  );
  const [row] = rows;
  return { rows: Number(row!.rows), dead: Number(row!.dead), megabytes: Number(row!.bytes) / 2 ** 20 };
}

const shown = ({ rows, dead, megabytes }: Size) =>
  `${rows.toLocaleString('en')} (and ${dead.toLocaleString('en')} dead), ${megabytes.toFixed(1)} MB`;
