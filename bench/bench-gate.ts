/** The gate alone, as its users run it: a separate process, on the stores of `npm run bench` or else on those of the tests. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDatabase, freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { freePorts, type Service, startService } from '@gatepost/testkit/system';
import { seed } from './gate-seed.ts';

export type RunningGate = { issuer: string; port: number; service: Service };

export type BenchGate = AsyncDisposable &
  RunningGate & {
    databaseUrl: string;
    /** Starts another gate on the same stores, with another way to PostgreSQL or more variables. */
    startAnother(databaseUrl: string, more?: Record<string, string>): Promise<RunningGate>;
  };

/** @param more variables of its own, or the folder of another checkout to run */
export async function openBenchGate(
  more: { env?: Record<string, string>; checkout?: string | undefined } = {},
): Promise<BenchGate> {
  await using opening = new AsyncDisposableStack();
  const { REDIS_URL } = process.env;
  const databaseUrl = opening.use(await freshDatabase()).url;
  const home = opening.adopt(mkdtempSync(join(tmpdir(), 'gatepost-bench-')), (path) =>
    rmSync(path, { recursive: true }),
  );
  const seedFile = join(home, 'seed.yaml');
  writeFileSync(seedFile, JSON.stringify(seed)); // JSON is YAML
  const env = {
    PATH: process.env.PATH ?? '',
    GATEPOST_HOME: home,
    REDIS_URL: REDIS_URL ?? redisUrl(),
    REDIS_KEY_PREFIX: freshPrefix(),
    SECRETS_KEY: randomBytes(32).toString('base64'),
    SEED_FILE: seedFile,
    ...more.env,
  };
  const running = opening.use(new AsyncDisposableStack());
  const start = async (url: string, own: Record<string, string> = {}): Promise<RunningGate> => {
    const [port, opsPort] = (await freePorts(2)) as [number, number];
    const issuer = `http://localhost:${port}/`;
    const ports = { ISSUER: issuer, AUTH_PORT: String(port), AUTH_OPS_PORT: String(opsPort) };
    const service = running.use(
      await startService('auth', { ...env, ...own, ...ports, DATABASE_URL: url }, opsPort, more.checkout),
    );
    return { issuer, port, service };
  };
  const gate = await start(databaseUrl);
  const open = opening.move();
  return { ...gate, databaseUrl, startAnother: start, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
