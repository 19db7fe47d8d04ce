import { openLogLines } from '@gatepost/testkit/log-lines';
import { openIssuer } from '@gatepost/testkit/tokens';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, audience, call, openApi } from './support/api.ts';

let api: Api;
const log = openLogLines();
let hook: string;
const hooks = '/repos/acme/widgets/hooks';

beforeAll(async () => {
  api = await openApi({}, undefined, log);
  const alice = await api.tokens.user('auth0|alice', 'repo');
  const { body } = await call(api, alice, 'POST', hooks, { config: { url: 'https://example.com/' } });
  hook = `${hooks}/${body.id}`;
});
afterAll(async () => await api?.[Symbol.asyncDispose]());

const claims = { aud: audience, sub: 'auth0|alice', client_id: 'first-party', scope: 'repo', first_party: true };

describe('a token', () => {
  test('is accepted as Bearer and as token, in any letter case', async () => {
    const token = await api.issuer.sign(claims);
    for (const scheme of ['Bearer', 'bearer', 'token', 'TOKEN'])
      expect(
        await call(api, undefined, 'GET', hooks, undefined, { authorization: `${scheme} ${token}` }),
      ).toMatchObject({ status: 200 });
  });

  test('is accepted with an array as its audience', async () => {
    expect(
      await call(api, await api.issuer.sign({ ...claims, aud: [audience, 'http://elsewhere/'] }), 'GET', hooks),
    ).toMatchObject({ status: 200 });
  });

  test('is accepted in Auth0’s dialect and in that of RFC 9068', async () => {
    for (const typ of ['JWT', 'at+jwt', 'application/at+jwt'])
      expect(await call(api, await api.issuer.sign(claims, { typ }), 'GET', hooks)).toMatchObject({ status: 200 });
  });

  // As `curl --user`, git's credential helpers and hub4j's `withPassword` send it.
  test.each([
    ['as the password of whatever user', (token: string) => `somebody:${token}`],
    ['as the user, with x-oauth-basic', (token: string) => `${token}:x-oauth-basic`],
    ['as the user, without a password', (token: string) => `${token}:`],
    ['as the user alone', (token: string) => token],
  ])('is accepted by basic authentication %s', async (_how, pair) => {
    const basic = Buffer.from(pair(await api.issuer.sign(claims))).toString('base64');
    for (const scheme of ['Basic', 'basic'])
      expect(
        await call(api, undefined, 'GET', hooks, undefined, { authorization: `${scheme} ${basic}` }),
      ).toMatchObject({ status: 200 });
  });

  test.each([
    ['a password that is none', 'auth0|alice:secret'],
    ['nothing', ':'],
    ['what no header could hold', 'x:\u0000'],
  ])('is not accepted in a basic authentication of %s', async (_what, pair) => {
    const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
    expect(await call(api, undefined, 'GET', hooks, undefined, { authorization })).toMatchObject({
      status: 401,
      body: { message: 'Bad credentials' },
    });
  });

  // A browser that once opened `https://user:token@…` adds it by itself to whatever any site's page sends here.
  test.each(['cross-site', 'same-site'])('by basic authentication has no effect for a %s page', async (site) => {
    const authorization = `Basic ${Buffer.from(`x:${await api.issuer.sign(claims)}`).toString('base64')}`;
    const page = { authorization, 'sec-fetch-site': site, 'content-type': 'text/plain' };
    const body = { config: { url: 'https://attacker.example/' } };
    expect(await call(api, undefined, 'POST', hooks, body, page)).toMatchObject({ status: 401 });
  });

  test('is required: without one the answer is 401', async () => {
    expect(await call(api, undefined, 'GET', hooks)).toMatchObject({
      status: 401,
      body: { message: 'Requires authentication', status: '401' },
    });
  });

  test('is refused if anything about it is wrong', async () => {
    await using stranger = await openIssuer();
    const now = Math.floor(Date.now() / 1000);
    const unsigned = [
      '{"alg":"none","typ":"at+jwt"}',
      JSON.stringify({ ...claims, iss: api.issuer.issuer, exp: now + 60 }),
    ]
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.');
    const good = await api.issuer.sign(claims);
    const { client_id: _, ...withoutClient } = claims;
    const bad: Record<string, string> = {
      expired: await api.issuer.sign({ ...claims, iat: now - 7200, exp: now - 3600 }),
      'not yet valid': await api.issuer.sign({ ...claims, nbf: now + 3600 }),
      'wrong audience': await api.issuer.sign({ ...claims, aud: 'http://elsewhere/' }),
      'no audience': await api.issuer.sign({ ...claims, aud: undefined } as never),
      'wrong issuer': await api.issuer.sign({ ...claims, iss: 'http://elsewhere/' }),
      'alg none': `${unsigned}.`,
      'another key': await stranger.sign({ ...claims, iss: api.issuer.issuer }),
      'an ID token': await api.issuer.sign({ ...withoutClient, azp: 'demo-web', nonce: 'n' }, { typ: 'JWT' }),
      'a JWT without jti': await api.issuer.sign({ ...claims, jti: undefined } as never, { typ: 'JWT' }),
      'a logout token': await api.issuer.sign(claims, { typ: 'logout+jwt' }),
      'no client': await api.issuer.sign(withoutClient),
      tampered: `${good.slice(0, -4)}AAAA`,
      'no JWT': 'gho_16C7e42F292c6912E7710c838347Ae178B4a',
    };
    const results = Object.fromEntries(
      await Promise.all(
        Object.entries(bad).map(async ([what, token]) => {
          const { status, body, headers } = await call(api, token, 'GET', hooks);
          return [what, `${status} ${body.message}: ${headers.get('www-authenticate')}`] as const;
        }),
      ),
    );
    const why: Record<keyof typeof bad, string> = {
      expired: 'The token has expired',
      'not yet valid': 'The token is not valid yet',
      'wrong audience': `The token is not for the audience ${audience}`,
      'no audience': `The token is not for the audience ${audience}`,
      'wrong issuer': `The token is not from the issuer ${api.issuer.issuer}`,
      'alg none': 'The token cannot be used here',
      'another key': 'The token is signed with a key that the issuer does not publish',
      'an ID token': 'The token is not an access token of this issuer',
      'a JWT without jti': 'The token is not an access token of this issuer',
      'a logout token': 'The token is not an access token of this issuer',
      'no client': 'The token is not an access token of this issuer',
      tampered: 'The signature of the token does not match',
      'no JWT': `The token is not a JWT. Ask for one with audience=${audience}`,
    };
    expect(results).toEqual(
      Object.fromEntries(
        Object.entries(why).map(([what, description]) => [
          what,
          `401 Bad credentials: Bearer error="invalid_token", error_description="${description}"`,
        ]),
      ),
    );
    // Nothing that would open a door, or a part of it, comes into the log.
    const said = JSON.stringify(log.lines);
    for (const part of Object.values(bad)
      .flatMap((token) => token.split('.'))
      .filter((text) => text !== ''))
      expect(said).not.toContain(part);
  });

  test('that is refused is logged with the reason, its key, audience and client', async () => {
    const refusals = () => log.lines.filter((line) => 'token.refused' in line);
    const before = refusals().length;
    await call(api, await api.issuer.sign({ ...claims, aud: 'http://elsewhere/' }), 'GET', hooks);
    await call(api, await api.issuer.sign({ ...claims, aud: ['http://elsewhere/', 'http://third/'] }), 'GET', hooks);
    await call(api, 'gho_16C7e42F292c6912E7710c838347Ae178B4a', 'GET', hooks);
    await until('the lines', () => refusals().length >= before + 3);
    expect(refusals().slice(before)).toEqual([
      expect.objectContaining({
        message: 'request',
        'http.status': 401,
        'token.refused': 'wrong_audience',
        'token.aud': 'http://elsewhere/',
        'client.id': 'first-party',
      }),
      expect.objectContaining({
        'token.refused': 'wrong_audience',
        'token.kid': expect.stringMatching(/^[\w-]{36}$/),
        'token.aud': 'http://elsewhere/ http://third/',
      }),
      expect.objectContaining({ 'token.refused': 'no_jwt' }),
    ]);
  });

  test('with a key that the gate rotated to is accepted at once, even if the gate is away afterwards', async () => {
    await using issuer = await openIssuer();
    await using own = await openApi({ ISSUER: issuer.issuer });
    const token = () => issuer.sign({ ...claims, sub: 'auth0|alice' });
    expect(await call(own, await token(), 'GET', hooks)).toMatchObject({ status: 200 });
    // The cooldown after the first read has to pass before an unknown key is asked for.
    await issuer.rotate();
    const rotated = await token();
    await until('the new key to be taken', async () => (await call(own, rotated, 'GET', hooks)).status === 200);
    await issuer.serve(false);
    expect(await call(own, await token(), 'GET', hooks)).toMatchObject({ status: 200 });
    expect(await (await fetch(`${own.opsBase}/readyz`)).json()).toEqual({ status: 'ready' });
  });
});

describe('scopes', () => {
  const statuses = async (token: string) => ({
    list: (await call(api, token, 'GET', hooks)).status,
    get: (await call(api, token, 'GET', hook)).status,
    ping: (await call(api, token, 'POST', `${hook}/pings`)).status,
    update: (await call(api, token, 'PATCH', hook, {})).status,
    delete: (await call(api, token, 'DELETE', `${hooks}/2147483647`)).status,
  });
  // A deletion of what is not there is a 404 either way; what tells them apart is the test below.
  test.each([
    ['admin:repo_hook', { list: 200, get: 200, ping: 204, update: 200, delete: 404 }],
    ['repo', { list: 200, get: 200, ping: 204, update: 200, delete: 404 }],
    ['write:repo_hook', { list: 200, get: 200, ping: 204, update: 200, delete: 404 }],
    ['read:repo_hook', { list: 200, get: 200, ping: 204, update: 404, delete: 404 }],
    ['admin:org_hook', { list: 404, get: 404, ping: 404, update: 404, delete: 404 }],
    ['', { list: 404, get: 404, ping: 404, update: 404, delete: 404 }],
  ])('%j allow what they allow at GitHub, and everything else is 404', async (scope, expected) => {
    expect(await statuses(await api.tokens.user('auth0|alice', scope))).toEqual(expected);
  });

  test('write:repo_hook does not allow deleting', async () => {
    const write = await api.tokens.user('auth0|alice', 'write:repo_hook');
    const refused = await call(api, write, 'DELETE', hook);
    expect(refused.status).toBe(404);
    expect(refused.headers.get('x-oauth-scopes')).toBe('write:repo_hook');
    expect(refused.headers.get('x-accepted-oauth-scopes')).toBe('admin:repo_hook, public_repo, repo');
    expect(await call(api, write, 'GET', hook)).toMatchObject({ status: 200 });
  });
});

describe('who may see a repository’s hooks', () => {
  test.each<[string, () => Promise<string>, number]>([
    ['an admin through a first-party client', () => api.tokens.user('auth0|alice', 'repo'), 200],
    ['an admin through a third-party app', () => api.tokens.app('auth0|alice', 'repo', 'some-app'), 200],
    ['a machine that is an admin', () => api.tokens.machine('m2m', 'admin:repo_hook'), 200],
    ['a machine that is no member', () => api.tokens.machine('other-m2m', 'admin:repo_hook'), 404],
    ['a member that is no admin', () => api.tokens.user('auth0|bob', 'repo'), 404],
    ['an admin of another organization', () => api.tokens.user('auth0|olga', 'repo'), 404],
  ])('%s', async (_who, token, status) => {
    expect((await call(api, await token(), 'GET', hook)).status).toBe(status);
  });
});
