/** SECRETS_KEY is changed while the gate goes on: both keys are read, and what is stored is sealed under the new one. */
import { randomBytes, randomUUID } from 'node:crypto';
import { makeSeal } from '@gatepost/runtime/seal';
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import pg from 'pg';
import { openGate, type TestGate } from './gate.ts';
import { managerSeed, openManager } from './manager.ts';
import { api, apis, fullSeed, machine } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const seed = {
  apis: apis.slice(0, 1),
  clients: [
    managerSeed([
      'update:encryption_keys',
      'create:resource_servers',
      'read:resource_servers',
      'update:resource_servers',
    ]),
  ],
};

const manage = async (gate: TestGate, ...asked: [method: string, path: string, body?: object]) =>
  (await openManager(gate))(...asked);

test('a secret sealed under the old key stays readable, until `keys/encryption/rekey` seals it under the new one', async () => {
  const [before, after] = [randomBytes(32), randomBytes(32)];
  const written = (key: Buffer) => key.toString('base64');
  const first = stack.use(await openGate(seed, { SECRETS_KEY: written(before) }));
  const made = await manage(first, 'POST', 'resource-servers', {
    identifier: 'https://sealed.example/',
    signing_secret: 'a secret of sixteen and more',
  });
  expect(made.status).toBe(201);
  const { databaseUrl } = first;
  const second = stack.use(
    await openGate(seed, {
      DATABASE_URL: databaseUrl,
      SECRETS_KEY: written(after),
      SECRETS_KEY_OTHER: written(before),
    }),
  );
  const secretOf = async (gate: TestGate) =>
    ((await manage(gate, 'GET', `resource-servers/${made.json.id}`)).json as Record<string, unknown>).signing_secret;
  expect(await secretOf(second)).toBe('a secret of sixteen and more');
  const sql = stack.adopt(new pg.Client({ connectionString: databaseUrl, options: '-c search_path=auth' }), (open) =>
    open.end(),
  );
  await sql.connect();
  // What neither key opens keeps nothing else from being sealed.
  const lost = makeSeal(randomBytes(32)).seal('{}', 'signing key lost');
  await sql.query(
    `INSERT INTO signing_keys SELECT (jsonb_populate_record(k, jsonb_build_object('kid', 'lost', 'revoked_at', now(), 'sealed', $1::bytea))).*
       FROM signing_keys k LIMIT 1`,
    [lost],
  );
  for (let time = 0; time < 2; time += 1)
    expect(await manage(second, 'POST', 'keys/encryption/rekey')).toMatchObject({ status: 204 });

  await sql.query("DELETE FROM signing_keys WHERE kid = 'lost'");
  const { rows } = await sql.query<{ kid: string; sealed: Buffer }>('SELECT kid, sealed FROM signing_keys');
  expect(rows.length).toBeGreaterThan(0);
  for (const { kid, sealed } of rows)
    expect(JSON.parse(makeSeal(after).open(sealed, `signing key ${kid}`))).toMatchObject({ kid });
  const third = stack.use(await openGate(seed, { DATABASE_URL: databaseUrl, SECRETS_KEY: written(after) }));
  expect(await secretOf(third)).toBe('a secret of sixteen and more');
  // The first one's key opens nothing any more, and the variable is named.
  await expect(openGate(seed, { DATABASE_URL: databaseUrl, SECRETS_KEY: written(before) })).rejects.toThrow(
    'SECRETS_KEY is not the key',
  );
});

test('a session goes on under the new key if its browser returned while both were valid; otherwise its person signs in again', async () => {
  const withPeople = {
    ...fullSeed,
    clients: [...fullSeed.clients, ...seed.clients],
  };
  const [before, after] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const first = stack.use(await openGate(withPeople, { SECRETS_KEY: before }));
  const stores = { DATABASE_URL: first.databaseUrl, REDIS_KEY_PREFIX: first.redisPrefix };
  const request = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };
  const at = { issuer: first.issuer };
  const [returning, away] = [new Browser(at), new Browser(at)];
  for (const browser of [returning, away]) await browser.logIn(await browser.authorize(request));
  const silently = async (browser: Browser) => {
    const { searchParams } = (await browser.authorize({ ...request, prompt: 'none' })).location!;
    return searchParams.get('error') ?? 'signed in';
  };
  const both = { SECRETS_KEY: after, SECRETS_KEY_OTHER: before };
  const second = stack.use(await openGate(withPeople, { ...stores, ...both }));
  at.issuer = second.issuer;
  expect(await silently(returning)).toBe('signed in');
  expect((await manage(second, 'POST', 'keys/encryption/rekey')).status).toBe(204);
  const third = stack.use(await openGate(withPeople, { ...stores, SECRETS_KEY: after }));
  at.issuer = third.issuer;
  expect([await silently(returning), await silently(away)]).toEqual(['signed in', 'login_required']);
});

describe('while gates are restarted with SECRETS_KEY and SECRETS_KEY_OTHER swapped,', () => {
  const [one, other] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  let gates: [TestGate, TestGate];
  beforeAll(async () => {
    const before = stack.use(await openGate(fullSeed, { SECRETS_KEY: one, SECRETS_KEY_OTHER: other }));
    const stores = { DATABASE_URL: before.databaseUrl, REDIS_KEY_PREFIX: before.redisPrefix };
    const after = await openGate(fullSeed, { ...stores, SECRETS_KEY: other, SECRETS_KEY_OTHER: one });
    gates = [before, stack.use(after)];
  });

  test.each([
    [0, 1],
    [1, 0],
  ])(
    'a refresh token that tabs use at both gates has one successor, and its use two generations later revokes the family',
    async (at, elsewhere) => {
      const [gate, second] = [gates[at]!, gates[elsewhere]!];
      const { code_verifier, ...challenge } = pkce();
      const redirect_uri = 'https://app.example/cb';
      const asked = { client_id: 'tabs', redirect_uri, response_type: 'code', scope: 'openid offline_access' };
      const browser = new Browser(gate);
      const { location } = await browser.logIn(await browser.authorize({ ...asked, ...challenge }));
      const code = location!.searchParams.get('code')!;
      const given = { grant_type: 'authorization_code', client_id: 'tabs', redirect_uri, code, code_verifier };
      const { refresh_token: first } = (await gate.post('oauth/token', given)).json as Record<string, string>;
      const refresh = async (where: TestGate, refresh_token = '') => {
        const answer = await where.post('oauth/token', {
          grant_type: 'refresh_token',
          client_id: 'tabs',
          refresh_token,
        });
        return answer.json as Record<string, string>;
      };
      const next = await refresh(gate, first);
      expect(next).toHaveProperty('refresh_token');
      expect((await refresh(second, first)).refresh_token).toBe(next.refresh_token);
      const third = await refresh(gate, next.refresh_token);
      expect(third).toHaveProperty('refresh_token');
      expect(await refresh(second, first)).toMatchObject({ error: 'invalid_grant' });
      expect(await refresh(gate, third.refresh_token)).toMatchObject({ error: 'invalid_grant' });
    },
  );

  test.each([
    [0, 1],
    [1, 0],
  ])('a DPoP nonce of one gate is good at the other', async (at, elsewhere) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = await exportJWK(publicKey);
    const token = async ({ issuer, post }: TestGate, nonce?: string) => {
      const iat = Math.floor(Date.now() / 1000);
      const proof = new SignJWT({ htm: 'POST', htu: `${issuer}oauth/token`, jti: randomUUID(), iat, nonce });
      const DPoP = await proof.setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk }).sign(privateKey);
      const { client_id, client_secret } = machine;
      return post(
        'oauth/token',
        { grant_type: 'client_credentials', client_id, client_secret, audience: api },
        { DPoP },
      );
    };
    const nonce = (await token(gates[at]!)).headers.get('dpop-nonce')!;
    expect(nonce).toMatch(/./);
    expect((await token(gates[elsewhere]!, nonce)).json).toMatchObject({ token_type: 'DPoP' });
  });
});

test('secrets whose rows change during the rekey are sealed under the new key too, and a newer one is not overwritten', async () => {
  const [old, current] = [randomBytes(32), randomBytes(32)];
  const written = (key: Buffer) => key.toString('base64');
  const first = stack.use(await openGate(seed, { SECRETS_KEY: written(old) }));
  const { databaseUrl } = first;
  const { json: made } = await manage(first, 'POST', 'resource-servers', {
    identifier: 'https://changing.example/',
    signing_secret: 'a secret of sixteen and more',
  });
  const { id } = made as { id: string };
  const second = stack.use(
    await openGate(seed, {
      DATABASE_URL: databaseUrl,
      SECRETS_KEY: written(current),
      SECRETS_KEY_OTHER: written(old),
    }),
  );
  const connect = async () => {
    const options = { connectionString: databaseUrl, options: '-c search_path=auth' };
    const client = stack.adopt(new pg.Client(options), (open) => open.end());
    await client.connect();
    return client;
  };
  const [sql, ...writers] = [await connect(), await connect(), await connect()];
  const seals = { old: makeSeal(old), current: makeSeal(current) };
  await sql.query("INSERT INTO accounts (user_id, connection, email) VALUES ('auth0|zoe', 'db', 'zoe@example.com')");
  await sql.query(
    "INSERT INTO authentication_methods (id, user_id, type, sealed) VALUES ('totp|one', 'auth0|zoe', 'totp', $1)",
    [seals.old.seal('first', 'totp totp|one')],
  );
  // More digits than a number in JavaScript has.
  await sql.query(`UPDATE resource_servers SET inert = inert || '{"authorization_details":[12345678901234567890]}'`);

  const changes: [string, unknown[]][] = [
    ['UPDATE resource_servers SET token_lifetime = 4000 WHERE id = $1', [id]],
    ['UPDATE authentication_methods SET sealed = $1', [seals.current.seal('second', 'totp totp|one')]],
  ];
  for (const [index, [text, values]] of changes.entries()) {
    await writers[index]!.query('BEGIN');
    await writers[index]!.query(text, values);
  }
  const rekeyed = manage(second, 'POST', 'keys/encryption/rekey');
  for (const writer of writers) {
    const { rows } = await writer.query('SELECT pg_backend_pid() AS pid');
    await until('the rekey to wait', async () => {
      const waiting = 'SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))';
      return (await sql.query(waiting, [rows[0].pid])).rowCount;
    });
    await writer.query('COMMIT');
  }
  expect((await rekeyed).status).toBe(204);
  const { rows: apis } = await sql.query('SELECT inert FROM resource_servers WHERE id = $1', [id]);
  const sealed = Buffer.from(apis[0].inert.signing_secret.$sealed, 'base64');
  expect(seals.current.open(sealed, 'inert field')).toBe('"a secret of sixteen and more"');
  const { rows: methods } = await sql.query('SELECT sealed FROM authentication_methods');
  expect(seals.current.open(methods[0].sealed, 'totp totp|one')).toBe('second');
});
