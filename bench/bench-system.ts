/** The system under measurement: on the stores that `npm run bench` starts, or else on those of the tests. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSystem, type Service, type System } from '@gatepost/testkit/system';

export type Account = { login: string; throttle?: { rate: number; burst: number } };

const audience = 'http://localhost:4500/';
const scope = ['admin:repo_hook', 'admin:org_hook', 'site_admin'];

/** Starts it with these accounts, each with a repository `widgets`, and a machine client that may do everything. */
export async function openBenchSystem(accounts: Account[], env: Record<string, string> = {}): Promise<System> {
  const { DATABASE_URL, AMQP_URL, REDIS_URL } = process.env;
  return openSystem({
    seedFile: writeSeed(accounts),
    env: { LOG_LEVEL: 'info', ...env },
    ...(DATABASE_URL && AMQP_URL && REDIS_URL
      ? { databaseUrl: DATABASE_URL, amqpUrl: AMQP_URL, redisUrl: REDIS_URL }
      : {}),
  });
}

/** The sum of a metric's samples over some services; `0` while it does not exist yet. */
export async function readMetric(services: Service[], name: string): Promise<number> {
  const texts = await Promise.all(services.map(async ({ opsUrl }) => (await fetch(`${opsUrl}/metrics`)).text()));
  const sample = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm');
  return texts
    .flatMap((text) => [...text.matchAll(sample)].map((match) => Number(match[1])))
    .reduce((a, b) => a + b, 0);
}

function writeSeed(accounts: Account[]): string {
  const path = fileURLToPath(new URL('./results/seed.yaml', import.meta.url));
  mkdirSync(dirname(path), { recursive: true });
  const client = {
    client_id: 'demo-m2m',
    client_secret: 'demo-m2m-secret',
    app_type: 'non_interactive',
    grant_types: ['client_credentials'],
    client_grants: [{ audience, scope }],
  };
  const organizations = accounts.map((account) => ({
    ...account,
    members: [{ subject: client.client_id, role: 'admin' }],
    repositories: ['widgets'],
  }));
  // JSON is YAML.
  writeFileSync(
    path,
    JSON.stringify({ apis: [{ identifier: audience, scopes: scope }], clients: [client], organizations }),
  );
  return path;
}
