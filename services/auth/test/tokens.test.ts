/** What the token endpoint gives for codes, refresh tokens and other tokens, and when it takes it back. */

import { openLog } from '@gatepost/runtime/log';
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { openDatabase } from '../src/database.ts';
import { type Answer, openGate } from './gate.ts';
import { api, fullSeed, spa, web } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(async () => {
  await stack.disposeAsync();
});
/** Its refresh tokens are good for further APIs. */
const many = {
  ...spa,
  client_id: 'many',
  refresh_token: {
    policies: [
      { audience: 'urn:es', scope: ['read:x'] },
      { audience: 'urn:asks', scope: ['read:x'] },
      { audience: api, scope: ['write:x'] },
    ],
  },
};
/** Its refresh tokens do not rotate. */
const idle = {
  ...web,
  client_id: 'idle',
  refresh_token: { idle_token_lifetime: 10_000, token_lifetime: 25_000 },
};
const gate = stack.use(
  await openGate({
    ...fullSeed,
    apis: [
      ...fullSeed.apis.map((each) => ({ ...each, scopes: [...each.scopes, 'delete:x'] })),
      { identifier: 'urn:asks', skip_consent_for_verifiable_first_party_clients: false, scopes: ['read:x'] },
    ],
    clients: [...fullSeed.clients, idle, many, { ...many, client_id: 'many-third', is_first_party: false }],
  }),
);
const redirect_uri = 'https://app.example/cb';
type Tokens = { access_token: string; refresh_token: string; id_token: string; scope: string };

async function codeFor(client_id: string, params: Record<string, string> = {}, browser = new Browser(gate)) {
  const { code_verifier, ...challenge } = pkce();
  const page = await browser.authorize({
    client_id,
    redirect_uri,
    response_type: 'code',
    scope: 'openid offline_access',
    ...challenge,
    ...params,
  });
  const done = page.location ? page : await browser.logIn(page);
  return { code: done.location!.searchParams.get('code')!, code_verifier, redirect_uri };
}

const redeem = (client_id: string, given: Record<string, string>, headers = {}) =>
  gate.post('oauth/token', { grant_type: 'authorization_code', client_id, ...given }, headers);
const refresh = (client_id: string, refresh_token: string, more = {}) =>
  gate.post('oauth/token', { grant_type: 'refresh_token', client_id, refresh_token, ...more });
const userinfo = (token: string) => gate.get('userinfo', { authorization: `Bearer ${token}` });
const tokensOf = (answer: Answer) => answer.json as unknown as Tokens;

async function login(client_id: string, params: Record<string, string> = {}): Promise<Tokens> {
  const answer = await redeem(client_id, await codeFor(client_id, params));
  expect(answer.status).toBe(200);
  return tokensOf(answer);
}

describe('authorization code', () => {
  test('may be redeemed with the audience of its authorization request once more, however that was named', async () => {
    for (const name of ['audience', 'resource']) {
      const answer = await redeem('spa', { ...(await codeFor('spa', { [name]: api })), audience: api });
      expect(decodeJwt(tokensOf(answer).access_token).aud).toContain(api);
      const other = await redeem('spa', { ...(await codeFor('spa', { [name]: api })), audience: 'urn:es' });
      expect(other).toMatchObject({ status: 400, json: { error: 'invalid_target' } });
    }
  });

  test('sec-035-code-replay: a second use is refused and revokes the tokens of the first', async () => {
    const given = await codeFor('spa', { audience: api });
    const first = tokensOf(await redeem('spa', given));
    expect((await userinfo(first.access_token)).status).toBe(200);
    expect(await redeem('spa', given)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect((await userinfo(first.access_token)).status).toBe(401);
    expect((await refresh('spa', first.refresh_token)).json.error).toBe('invalid_grant');
  });

  test('sec-036-code-race: of eight parallel redemptions exactly one succeeds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const given = await codeFor('spa');
      const answers = await Promise.all(Array.from({ length: 8 }, () => redeem('spa', given)));
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    }
  });

  test('sec-037-foreign-code: another client gets nothing and does not spend the code', async () => {
    const given = await codeFor('spa');
    expect((await redeem('tabs', given)).json.error).toBe('invalid_grant');
    expect((await redeem('spa', given)).status).toBe(200);
  });

  test.each([
    ['sec-011 redirect_uri', { redirect_uri: 'https://app.example' }],
    ['sec-041 verifier', { code_verifier: 'x'.repeat(43) }],
  ])('a wrong %s spends the code', async (_what, wrong) => {
    const given = await codeFor('spa');
    expect((await redeem('spa', { ...given, ...wrong })).json.error).toBe('invalid_grant');
    expect((await redeem('spa', given)).json.error).toBe('invalid_grant');
  });

  test('sec-039-no-verifier and sec-040-downgrade: a verifier without a challenge, or the reverse, is refused', async () => {
    const { code, redirect_uri: uri } = await codeFor('spa');
    expect((await redeem('spa', { code, redirect_uri: uri })).json.error).toBe('invalid_grant');
    const browser = new Browser(gate);
    const page = await browser.authorize({ client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid' });
    const done = await browser.logIn(page);
    const plain = { code: done.location!.searchParams.get('code')!, redirect_uri, client_secret: 'web-secret' };
    expect((await redeem('web', { ...plain, code_verifier: 'x'.repeat(43) })).json.error).toBe('invalid_grant');
  });

  test('gives a refresh token without prompt=consent, if the API allows it', async () => {
    expect((await login('spa', { audience: api })).refresh_token).toBeDefined();
    const without = await login('spa', { audience: 'urn:es' });
    expect(without.refresh_token).toBeUndefined();
    expect(without.scope).toBe('openid');
  });
});

describe('refresh tokens', () => {
  test('that do not rotate live on from their last use until their whole lifetime is over, and a use soon after another writes nothing', async () => {
    const { pool } = stack.use(
      openDatabase({ url: gate.databaseUrl, isPooled: false }, 30_000, openLog('test', 'silent')),
    );
    const { refresh_token } = tokensOf(
      await redeem('idle', { ...(await codeFor('idle')), client_secret: 'web-secret' }),
    );
    const use = async () => (await refresh('idle', refresh_token, { client_secret: 'web-secret' })).status;
    const where = "model = 'RefreshToken' AND client_id = 'idle'";
    const expiry = async () => {
      const { rows } = await pool.query(
        `SELECT xmin::text AS version, (payload ->> 'exp')::int AS exp, (payload ->> 'exp')::int - (payload ->> 'iiat')::int AS life,
                extract(epoch FROM expires_at)::int AS expires_at
           FROM artefacts WHERE ${where}`,
      );
      return rows[0] as { version: string; exp: number; life: number; expires_at: number };
    };
    /** As if so many seconds had passed. */
    const pass = (seconds: number) =>
      pool.query(
        `UPDATE artefacts SET expires_at = expires_at - make_interval(secs => $1), payload = payload || jsonb_build_object(
           'iat', (payload ->> 'iat')::int - $1::int, 'iiat', (payload ->> 'iiat')::int - $1::int, 'exp', (payload ->> 'exp')::int - $1::int)
         WHERE ${where}`,
        [seconds],
      );
    await pass(500);
    const { version } = await expiry();
    const soon = Date.now() / 1000 + 9_000;
    expect(await use()).toBe(200);
    expect((await expiry()).version).toBe(version);
    await pass(9_000);
    expect(await use()).toBe(200);
    const later = await expiry();
    expect(later.exp).toBeGreaterThan(soon);
    expect(later.expires_at).toBe(later.exp);
    await pass(9_000);
    expect(await use()).toBe(200);
    expect((await expiry()).life).toBe(25_000);
    await pass(7_000);
    expect(await use()).toBe(400);
  });

  test('sec-083-refresh-replay: rotate for public clients, and reuse revokes the family with Auth0’s message', async () => {
    const first = await login('spa', { audience: api });
    const second = tokensOf(await refresh('spa', first.refresh_token));
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(decodeJwt(second.access_token).aud).toContain(api);
    const reuse = await refresh('spa', first.refresh_token);
    expect(reuse).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(reuse.json.error_description).toContain('invalid refresh token');
    expect((await refresh('spa', second.refresh_token)).status).toBe(400);
    expect((await userinfo(second.access_token)).status).toBe(401);
  });

  test('sec-084-parallel-refresh: within the leeway all tabs get the same successor', async () => {
    const first = await login('tabs');
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh('tabs', first.refresh_token)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200));
    expect(new Set(answers.map((answer) => answer.json.refresh_token)).size).toBe(1);
    const next = await refresh('tabs', tokensOf(answers[0]!).refresh_token);
    expect(next.status).toBe(200);
  });

  test('sec-085-two-generations: within the leeway a token two generations old revokes the family', async () => {
    const first = await login('tabs');
    const second = tokensOf(await refresh('tabs', first.refresh_token));
    const third = tokensOf(await refresh('tabs', second.refresh_token));
    expect((await refresh('tabs', first.refresh_token)).status).toBe(400);
    expect((await refresh('tabs', third.refresh_token)).status).toBe(400);
  });

  test('do not rotate for confidential clients unless they ask for it', async () => {
    const given = await codeFor('web');
    const first = tokensOf(await redeem('web', { ...given, client_secret: 'web-secret' }));
    const second = tokensOf(await refresh('web', first.refresh_token, { client_secret: 'web-secret' }));
    expect(second.refresh_token).toBe(first.refresh_token);
    expect((await refresh('web', first.refresh_token)).status).toBe(401);
  });

  test('sec-055-widen: a refresh cannot widen the scope', async () => {
    const { refresh_token } = await login('tabs', { audience: api, scope: 'openid offline_access read:x' });
    expect((await refresh('tabs', refresh_token, { scope: 'openid read:x write:x' })).json.error).toBe('invalid_scope');
  });

  test('give tokens for further APIs in the client’s policies, with the scopes named there', async () => {
    const first = await login('many', { audience: api, scope: 'openid offline_access read:x delete:x' });
    const other = tokensOf(await refresh('many', first.refresh_token, { audience: 'urn:es' }));
    expect(decodeJwt(other.access_token)).toMatchObject({
      aud: expect.arrayContaining(['urn:es']),
      sub: 'auth0|alice',
    });
    expect(other.scope.split(' ')).toContain('read:x');
    expect(other.scope.split(' ')).not.toContain('delete:x'); // that was the other API's
    expect((await userinfo(other.access_token)).status).toBe(200);
    // As auth0-spa-js asks with `useMrrt`: the scopes of all.
    const named = await refresh('many', other.refresh_token, { resource: 'urn:es', scope: 'openid read:x delete:x' });
    expect(new Set(tokensOf(named).scope.split(' '))).toEqual(new Set(['openid', 'read:x']));
    const own = tokensOf(await refresh('many', tokensOf(named).refresh_token));
    expect(decodeJwt(own.access_token).aud).toContain(api);
    expect(new Set(own.scope.split(' '))).toEqual(new Set(first.scope.split(' '))); // as at the sign-in
    const wider = tokensOf(await refresh('many', own.refresh_token, { audience: api }));
    expect(wider.scope.split(' ')).toEqual(expect.arrayContaining(['read:x', 'write:x']));
    // A token used again ends all of them.
    await refresh('many', first.refresh_token);
    expect((await userinfo(other.access_token)).status).toBe(401);
  });

  test('give none for an API without a policy, with consent, or of a third-party application', async () => {
    const target = { status: 400, json: { error: 'invalid_target' } };
    const { refresh_token } = await login('many', { audience: api });
    for (const audience of ['plain name', 'urn:asks', 'urn:nobody'])
      expect(await refresh('many', refresh_token, { audience })).toMatchObject(target);
    expect(await refresh('many', refresh_token, { audience: api, resource: 'urn:es' })).toMatchObject(target);
    // Being refused costs nobody the token.
    expect((await refresh('many', refresh_token, { audience: 'urn:es' })).status).toBe(200);
    const plain = await login('spa', { audience: api });
    expect(await refresh('spa', plain.refresh_token, { audience: 'urn:es' })).toMatchObject(target);
    const code = await codeFor('many', { audience: api });
    expect((await redeem('many', { ...code, resource: 'urn:es' })).json.error).toBe('invalid_target');
  });

  test('sec-087-foreign-refresh: are bound to their client', async () => {
    const { refresh_token } = await login('spa');
    expect((await refresh('tabs', refresh_token)).json.error).toBe('invalid_grant');
  });
});

describe('userinfo, introspection, revocation', () => {
  const introspect = (token: string, client_id: string, client_secret: string) =>
    gate.post('oauth/introspect', { token, client_id, client_secret });

  test('userinfo answers by scope for opaque and JWT tokens, also by POST and in the query', async () => {
    for (const params of [{}, { audience: api }] as Record<string, string>[]) {
      const { access_token } = await login('spa', { ...params, scope: 'openid email' });
      const { json, status } = await userinfo(access_token);
      expect({ status, json }).toEqual({
        status: 200,
        json: { sub: 'auth0|alice', email: 'alice@example.com', email_verified: true },
      });
      expect((await gate.get(`userinfo?access_token=${access_token}`)).status).toBe(200);
      expect((await gate.post('userinfo', {}, { authorization: `bearer ${access_token}` })).status).toBe(200);
    }
  });

  test('sec-090-token-confusion: an ID token and a token without openid are refused there', async () => {
    const { id_token } = await login('spa');
    expect((await userinfo(id_token)).status).toBe(401);
    const { access_token } = await login('spa', { audience: api, scope: 'read:x' });
    expect([401, 403]).toContain((await userinfo(access_token)).status);
  });

  test('sec-089-introspection: is for the token’s client and its API, and for anybody else the token is inactive', async () => {
    const browser = new Browser(gate);
    const given = await codeFor('web', { audience: api, scope: 'openid read:x' }, browser);
    const { access_token } = tokensOf(await redeem('web', { ...given, client_secret: 'web-secret' }));
    expect((await introspect(access_token, 'web', 'web-secret')).json).toMatchObject({
      active: true,
      client_id: 'web',
      sub: 'auth0|alice',
      scope: 'openid read:x',
    });
    expect((await introspect(access_token, 'api', 'api-secret')).json).toMatchObject({
      active: true,
      token_type: 'Bearer',
    });
    expect((await introspect(access_token, 'machine', 'machine-secret')).json).toEqual({ active: false });
    expect((await introspect('made.up.token', 'web', 'web-secret')).json).toEqual({ active: false });
  });

  test('sec-088-revocation: a revoked JWT is refused at introspection and userinfo, and another client’s token is left alone', async () => {
    const given = await codeFor('web', { audience: api, scope: 'openid read:x' });
    const { access_token } = tokensOf(await redeem('web', { ...given, client_secret: 'web-secret' }));
    const foreign = await gate.post('oauth/revoke', {
      token: access_token,
      client_id: 'machine',
      client_secret: 'machine-secret',
    });
    expect(foreign.status).toBe(200);
    expect((await userinfo(access_token)).status).toBe(200);
    expect(
      (await gate.post('oauth/revoke', { token: access_token, client_id: 'web', client_secret: 'web-secret' })).status,
    ).toBe(200);
    expect((await userinfo(access_token)).status).toBe(401);
    expect((await introspect(access_token, 'web', 'web-secret')).json).toEqual({ active: false });
  });

  test('revoking a refresh token revokes its access tokens too, JWTs included', async () => {
    const { access_token, refresh_token } = await login('spa', { audience: api });
    const body = new URLSearchParams({ token: refresh_token!, client_id: 'spa' });
    const revoked = await fetch(`${gate.issuer}oauth/revoke`, { method: 'POST', body });
    // oidc-client-ts takes an empty answer only if it has no type, or that of JSON.
    expect([revoked.status, await revoked.text(), revoked.headers.get('content-type')]).toEqual([200, '', null]);
    expect((await userinfo(access_token)).status).toBe(401);
    expect((await refresh('spa', refresh_token)).status).toBe(400);
  });
});

describe('token exchange', () => {
  const grant_type = 'urn:ietf:params:oauth:grant-type:token-exchange';
  const type = 'urn:ietf:params:oauth:token-type:access_token';
  const exchange = (form: Record<string, string>, client = 'api') =>
    gate.post('oauth/token', {
      grant_type,
      client_id: client,
      client_secret: `${client}-secret`,
      subject_token_type: type,
      ...form,
    });
  const person = () => login('spa', { audience: api, scope: 'openid read:x' });

  test('impersonation: the API gets a token for the person, narrowed to the scopes that it may have', async () => {
    const { access_token } = await person();
    const answer = await exchange({ subject_token: access_token, audience: 'urn:es' });
    expect(answer).toMatchObject({ status: 200, json: { issued_token_type: type, token_type: 'Bearer' } });
    const claims = decodeJwt(answer.json.access_token as string);
    expect(claims).toMatchObject({ sub: 'auth0|alice', client_id: 'api', aud: ['urn:es', `${gate.issuer}userinfo`] });
    expect(claims).not.toHaveProperty('act');
    expect((await exchange({ subject_token: access_token, audience: api, scope: 'read:x write:x' })).json.error).toBe(
      'invalid_scope',
    );
  });

  test('delegation: with an actor token the new token names the actor and earlier actors', async () => {
    const { access_token } = await person();
    const machine = await gate.post('oauth/token', {
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'machine-secret',
      audience: api,
    });
    const actor = { actor_token: machine.json.access_token as string, actor_token_type: type };
    const first = await exchange({ subject_token: access_token, audience: api, ...actor });
    expect(decodeJwt(first.json.access_token as string).act).toEqual({ sub: 'machine' });
    const second = await exchange({ subject_token: first.json.access_token as string, audience: api, ...actor });
    expect(decodeJwt(second.json.access_token as string).act).toEqual({ sub: 'machine', act: { sub: 'machine' } });
  });

  test('a foreign, revoked or made-up subject token is refused', async () => {
    const { access_token, refresh_token } = await login('spa', { audience: 'urn:es', scope: 'openid read:x' });
    expect(refresh_token).toBeUndefined();
    expect((await exchange({ subject_token: access_token, audience: api })).json.error).toBe('invalid_grant');
    expect((await exchange({ subject_token: 'made.up.token', audience: api })).json.error).toBe('invalid_grant');
    const own = await login('spa', { audience: api });
    await gate.post('oauth/revoke', { token: own.refresh_token, client_id: 'spa' });
    expect((await exchange({ subject_token: own.access_token, audience: api })).json.error).toBe('invalid_grant');
  });
});
