import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';

test('an organization of the seed has the limit that is given there', async () => {
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
