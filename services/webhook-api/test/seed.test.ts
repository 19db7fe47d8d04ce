import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEnv } from '@gatepost/runtime/env';
import { openLog } from '@gatepost/runtime/log';
import { expect, test } from '@jest/globals';
import { variables } from '../src/config.ts';
import { start } from '../src/start.ts';
import { type Api, call, openApi } from './support/api.ts';

test('an organization of the seed has the limit given there', async () => {
  // A new account holds nulls, which the comparison did not count as another limit: none was ever set.
  const folder = mkdtempSync(join(tmpdir(), 'gatepost-seed-'));
  try {
    const seedFile = join(folder, 'seed.yaml');
    writeFileSync(seedFile, 'organizations: [{ login: seeded, throttle: { rate: 2.5, burst: 9 } }, { login: plain }]');
    await using api = await openApi({ SEED_FILE: seedFile, THROTTLE_RATE: '7', THROTTLE_BURST: '70' });
    const root = await api.tokens.machine('root', 'site_admin');
    expect(await call(api, root, 'GET', '/accounts/seeded/throttle')).toMatchObject({ body: { rate: 2.5, burst: 9 } });
    expect(await call(api, root, 'GET', '/accounts/plain/throttle')).toMatchObject({ body: { rate: 7, burst: 70 } });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a second start changes nothing, and keeps what users changed meanwhile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatepost-seed-'));
  try {
    const seedFile = join(folder, 'seed.yaml');
    writeFileSync(
      seedFile,
      `organizations:
         - { login: seeded, repositories: [one], members: [{ subject: root, role: admin }], throttle: { rate: 2.5, burst: 9 } }
         - { login: plain, members: [{ subject: root, role: admin }] }`,
    );
    await using api = await openApi({ SEED_FILE: seedFile });
    const seeded = await contentOf(api);
    await startAgain(api);
    expect(await contentOf(api)).toEqual(seeded);

    const root = await api.tokens.machine('root', 'site_admin admin:repo_hook');
    const changes: [method: string, path: string, body?: unknown][] = [
      ['POST', '/orgs/seeded/repos', { name: 'two' }],
      ['PUT', '/orgs/seeded/memberships/auth0|alice', { role: 'admin' }],
      ['PUT', '/orgs/seeded/oauth-app-policy', { enabled: true }],
      ['PUT', '/orgs/seeded/oauth-app-approvals/some-app'],
      ['PUT', '/accounts/plain/throttle', { rate: 5, burst: 50 }],
      ['POST', '/repos/seeded/one/hooks', { config: { url: 'https://example.com/' }, active: false }],
    ];
    for (const [method, path, body] of changes)
      expect((await call(api, root, method, path, body)).status).toBeLessThan(300);
    const changed = await contentOf(api);
    expect(changed).not.toEqual(seeded);
    await startAgain(api);
    expect(await contentOf(api)).toEqual(changed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** One more process on the same stores, until it is ready. */
async function startAgain(api: Api): Promise<void> {
  await using stack = new AsyncDisposableStack();
  await start({ env: readEnv(variables, api.env), log: openLog('webhook-api', 'silent'), stack });
}

/** Every row that a seed could touch, and how often each account was changed (which every dispatcher hears of). */
async function contentOf(api: Api): Promise<unknown> {
  const tables = ['accounts', 'repositories', 'memberships', 'oauth_app_approvals', 'hooks', 'account_versions'];
  const contents = tables.map(async (table) => {
    const { rows } = await api.sql.query(`SELECT t::text AS row FROM ${table} t ORDER BY 1`);
    return [table, rows.map(({ row }) => row)];
  });
  return Object.fromEntries(await Promise.all(contents));
}
