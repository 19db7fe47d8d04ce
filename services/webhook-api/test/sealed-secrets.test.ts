import { randomBytes } from 'node:crypto';
import { makeSeal } from '@gatepost/runtime/seal';
import { until } from '@gatepost/testkit/until';
import { hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import { afterAll, describe, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';
import { makeStored } from './support/stored.ts';

const otherKey = randomBytes(32);
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi({ SECRETS_KEY_OTHER: otherKey.toString('base64') }));
const root = await api.tokens.machine('root', 'site_admin');
const alice = await api.tokens.user('auth0|alice', 'admin:org repo admin:org_hook');
const { addHook } = makeStored(api.sql);

describe('sealed secrets', () => {
  test('that use the previous key are read, and sealed again under the current key step by step', async () => {
    const [present, other] = [makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64')), makeSeal(otherKey)];
    const hookId = await addHook({ repository: null });
    const sealed = other.seal('a secret', hookSecretPurpose);
    await api.sql.query('UPDATE hooks SET secret = $2, previous_secret = $2 WHERE id = $1', [hookId, sealed]);
    expect(await call(api, root, 'POST', '/admin/secrets/reseal', {})).toMatchObject({
      status: 200,
      body: { resealed: 1, next: null },
    });
    const { rows } = await api.sql.query('SELECT secret, previous_secret FROM hooks WHERE id = $1', [hookId]);
    expect(present.open(rows[0].secret, hookSecretPurpose)).toBe('a secret');
    expect(present.open(rows[0].previous_secret, hookSecretPurpose)).toBe('a secret');
    expect((await call(api, root, 'POST', '/admin/secrets/reseal', { after: 0 })).body.resealed).toBe(0);
  });

  test('that neither key opens are reported, and do not keep the others from being sealed again', async () => {
    const [lost, other] = [makeSeal(randomBytes(32)), makeSeal(otherKey)];
    const [first, second] = [await addHook({ repository: null }), await addHook({ repository: null })];
    const setSecret = (id: number, secret: Buffer) =>
      api.sql.query('UPDATE hooks SET secret = $2 WHERE id = $1', [id, secret]);
    await setSecret(first, lost.seal('a secret', hookSecretPurpose));
    await setSecret(second, other.seal('a secret', hookSecretPurpose));
    expect(await call(api, root, 'POST', '/admin/secrets/reseal', {})).toMatchObject({
      status: 200,
      body: { resealed: 1, unreadable: [first], next: null },
    });
    await api.sql.query('DELETE FROM hooks WHERE id = ANY ($1)', [[first, second]]);
  });

  test('are all sealed under the current key by a change of their hook, and by resealing, even if the hook changes meanwhile', async () => {
    const [present, other] = [makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64')), makeSeal(otherKey)];
    const hookId = await addHook({ repository: null });
    await api.sql.query("UPDATE hooks SET url = 'https://example.com/resealed' WHERE id = $1", [hookId]);
    const old = other.seal('a secret', hookSecretPurpose);
    const stored = async () =>
      (await api.sql.query('SELECT secret, previous_secret FROM hooks WHERE id = $1', [hookId])).rows[0];
    const keep =
      "UPDATE hooks SET secret = $2, previous_secret = $3, previous_secret_until = now() + interval '1 day' WHERE id = $1";
    await api.sql.query(keep, [hookId, old, old]);
    const address = `/orgs/acme/hooks/${hookId}`;
    expect(await call(api, alice, 'PATCH', address, { active: false })).toMatchObject({ status: 200 });
    expect(present.open((await stored()).previous_secret, hookSecretPurpose)).toBe('a secret');
    await api.sql.query(keep, [hookId, old, null]);
    const overlap = { secret: 'another', previous_secret_until: new Date(Date.now() + 3_600_000).toISOString() };
    expect(await call(api, alice, 'PATCH', `${address}/config`, overlap)).toMatchObject({ status: 200 });
    expect(present.open((await stored()).previous_secret, hookSecretPurpose)).toBe('a secret');

    await api.sql.query(keep, [hookId, old, old]);
    const client = await api.sql.connect();
    try {
      // As a process writes it that has the two keys the other way round.
      await client.query('BEGIN');
      await client.query('UPDATE hooks SET secret = $2 WHERE id = $1', [hookId, other.seal('next', hookSecretPurpose)]);
      const resealing = call(api, root, 'POST', '/admin/secrets/reseal', {});
      await until('it waits', async () => {
        const { rowCount } = await api.sql.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rowCount! > 0;
      });
      await client.query('COMMIT');
      expect(await resealing).toMatchObject({ status: 200, body: { resealed: 1, unreadable: [] } });
    } finally {
      client.release();
    }
    const { secret, previous_secret } = await stored();
    expect(present.open(secret, hookSecretPurpose)).toBe('next');
    expect(present.open(previous_secret, hookSecretPurpose)).toBe('a secret');
    await api.sql.query('DELETE FROM hooks WHERE id = $1', [hookId]);
  });

  test('of a hook change at once, or with an overlap in which the previous one is valid too', async () => {
    const made = await call(api, alice, 'POST', '/orgs/acme/hooks', {
      name: 'web',
      config: { url: 'https://example.com/overlap', secret: 'first' },
    });
    const { id } = made.body;
    const until = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const change = (body: object) => call(api, alice, 'PATCH', `/orgs/acme/hooks/${id}/config`, body);
    const ends = async () => (await call(api, alice, 'GET', `/orgs/acme/hooks/${id}`)).body.previous_secret_until;
    expect(await change({ previous_secret_until: until })).toMatchObject({ status: 422 });
    expect(await change({ secret: 'second', previous_secret_until: '2999-01-01T00:00:00Z' })).toMatchObject({
      status: 422,
    });
    expect(await change({ secret: 'second', previous_secret_until: until })).toMatchObject({ status: 200 });
    expect(await ends()).toBe(until);
    const { rows } = await api.sql.query('SELECT previous_secret FROM hooks WHERE id = $1', [id]);
    const seal = makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64'));
    expect(seal.open(rows[0].previous_secret, hookSecretPurpose)).toBe('first');
    expect(await change({ content_type: 'json' })).toMatchObject({ status: 200 });
    expect(await ends()).toBe(until);
    expect(await change({ secret: 'third' })).toMatchObject({ status: 200 });
    expect(await ends()).toBeNull();
  });

  // It was shown as if it signed still, and a time alone made it sign again.
  test('of a hook that have been replaced are over when their time is, and nobody can bring them back', async () => {
    const config = { url: 'https://example.com/over', secret: 'first' };
    const { id } = (await call(api, alice, 'POST', '/orgs/acme/hooks', { name: 'web', config })).body;
    const [past, later] = [-1_000, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString());
    const change = (body: object) => call(api, alice, 'PATCH', `/orgs/acme/hooks/${id}/config`, body);
    const ends = async () => (await call(api, alice, 'GET', `/orgs/acme/hooks/${id}`)).body.previous_secret_until;
    expect(await change({ secret: 'second', previous_secret_until: later })).toMatchObject({ status: 200 });
    await api.sql.query('UPDATE hooks SET previous_secret_until = $2 WHERE id = $1', [id, past]);
    expect(await ends()).toBeNull();
    expect(await change({ previous_secret_until: later })).toMatchObject({ status: 422 });
    expect(await change({ secret: 'third', previous_secret_until: later })).toMatchObject({ status: 200 });
    expect(await change({ previous_secret_until: past })).toMatchObject({ status: 200 }); // ended by request
    expect(await change({ previous_secret_until: later })).toMatchObject({ status: 422 });
    const { rows } = await api.sql.query('SELECT previous_secret FROM hooks WHERE id = $1', [id]);
    expect(rows).toEqual([{ previous_secret: null }]);
  });
});
