import { once } from 'node:events';
import { get } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { call, openApi } from './support/api.ts';

const hooks = '/repos/acme/widgets/hooks';
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi({ DELIVERY_EGRESS_CIDRS: '192.0.2.0/24,2001:db8::/32' }));
const alice = await api.tokens.user('auth0|alice', 'repo');

describe('paths', () => {
  test('with a trailing slash are not found', async () => {
    expect(await call(api, alice, 'GET', hooks)).toMatchObject({ status: 200 });
    expect(await call(api, alice, 'GET', `${hooks}/`)).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'GET', '/nothing/here')).toMatchObject({
      status: 404,
      body: { message: 'Not Found' },
    });
    expect(await call(api, alice, 'GET', '/repos/%zz/widgets/hooks')).toMatchObject({ status: 404 });
    expect(await call(api, alice, 'PUT', hooks, {})).toMatchObject({ status: 404 });
  });
});

describe('a request', () => {
  test.each([undefined, '', ' '])('without a User-Agent (%j) is refused, as GitHub’s proxy does', async (userAgent) => {
    const { hostname, port } = new URL(api.base);
    const headers = userAgent === undefined ? {} : { 'user-agent': userAgent };
    const [response] = await once(get({ hostname, port, path: '/meta', headers }), 'response');
    expect(response.statusCode).toBe(403);
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(Buffer.concat(await response.toArray()).toString()).toBe(
      '\r\nRequest forbidden by administrative rules. Please make sure your request has a User-Agent header (https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). Check https://developer.github.com for other possible causes.\r\n',
    );
  });
});

describe('an answer', () => {
  test('carries the headers that clients read', async () => {
    const { headers } = await call(api, alice, 'GET', hooks);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('ETag, Link, Location, Retry-After, X-RateLimit-Limit'),
      'x-github-media-type': 'github.v3; format=json',
      'x-github-api-version-selected': '2022-11-28',
      'x-github-request-id': expect.stringMatching(/^[0-9A-F]{32}$/),
      'x-oauth-scopes': 'repo',
      'x-accepted-oauth-scopes': 'admin:repo_hook, public_repo, read:repo_hook, repo, write:repo_hook',
      'x-ratelimit-limit': '5000',
      'x-ratelimit-resource': 'core',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'deny',
      'content-security-policy': "default-src 'none'",
    });
    expect(headers.get('x-powered-by')).toBeNull();
    const reset = Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000;
    expect(reset).toBeGreaterThan(3500);
    expect(reset).toBeLessThan(3602);
  });

  test('is not sent again to a client that has it, and the request is not counted', async () => {
    const first = await call(api, alice, 'GET', hooks);
    const etag = first.headers.get('etag')!;
    expect(etag).toMatch(/^W\/"[0-9a-f]+"$/);
    const second = await call(api, alice, 'GET', hooks, undefined, { 'if-none-match': etag });
    expect(second).toMatchObject({ status: 304, body: undefined });
    expect(second.headers.get('x-ratelimit-used')).toBe(first.headers.get('x-ratelimit-used'));
    const third = await call(api, alice, 'GET', hooks, undefined, { 'if-none-match': '"other"' });
    expect(third.status).toBe(200);
    expect(Number(third.headers.get('x-ratelimit-used'))).toBe(Number(first.headers.get('x-ratelimit-used')) + 1);
  });

  test('to HEAD has only the headers', async () => {
    const response = await fetch(api.base + hooks, { method: 'HEAD', headers: { authorization: `token ${alice}` } });
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
    expect(await response.text()).toBe('');
  });

  test('to a browser’s preflight allows what clients send', async () => {
    const response = await fetch(api.base + hooks, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization',
      },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(response.headers.get('access-control-allow-headers')).toContain('Authorization');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  test('for an unknown API version is 400', async () => {
    expect(await call(api, alice, 'GET', hooks, undefined, { 'x-github-api-version': '1999-01-01' })).toMatchObject({
      status: 400,
    });
    const { headers } = await call(api, alice, 'GET', hooks, undefined, { 'x-github-api-version': '2026-03-10' });
    expect(headers.get('x-github-api-version-selected')).toBe('2026-03-10');
  });
});

describe('a body', () => {
  test.each<[string, string | Uint8Array, number, string]>([
    ['that is not JSON', '{"config":', 400, 'Problems parsing JSON'],
    ['that is not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400, 'Problems parsing JSON'],
    ['that is a list', '[]', 400, 'Body should be a JSON object'],
    ['that is null', 'null', 400, 'Body should be a JSON object'],
    ['over 1 MB', JSON.stringify({ x: 'x'.repeat(1024 * 1024) }), 413, 'Payload too large'],
    ['that is empty', '', 422, 'Validation Failed'],
  ])('%s is answered in GitHub’s form', async (_what, body, status, message) => {
    expect(await call(api, alice, 'POST', hooks, body)).toMatchObject({
      status,
      body: { message, status: String(status) },
    });
  });

  test('that is over 1 MB only after decompression is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
    expect(await call(api, alice, 'POST', hooks, bomb, { 'content-encoding': 'gzip' })).toMatchObject({ status: 413 });
    expect(await call(api, alice, 'POST', hooks, '{}', { 'content-encoding': 'rot13' })).toMatchObject({ status: 415 });
  });

  test('is read as JSON whatever its content type', async () => {
    const body = JSON.stringify({ config: { url: 'https://example.com/typed' } });
    expect(
      await call(api, alice, 'POST', hooks, body, { 'content-type': 'application/x-www-form-urlencoded' }),
    ).toMatchObject({ status: 201 });
  });
});

describe('a route without a token', () => {
  test('shows addresses and versions', async () => {
    expect(await call(api, undefined, 'GET', '/meta')).toMatchObject({
      status: 200,
      body: { hooks: ['192.0.2.0/24', '2001:db8::/32'] },
    });
    expect(await call(api, undefined, 'GET', '/versions')).toMatchObject({ body: ['2026-03-10', '2022-11-28'] });
    expect(await call(api, 'nonsense', 'GET', '/meta')).toMatchObject({ status: 401 });
  });

  test('describes every route', async () => {
    const { body } = await call(api, undefined, 'GET', '/api/v3/openapi.json');
    expect(body).toMatchObject({ openapi: '3.0.3', servers: [{ url: `${api.base}/api/v3` }] });
    const { get, patch } = body.paths['/repos/{owner}/{repo}/hooks/{hook_id}'];
    expect(get.operationId).toBe('repos/get-webhook');
    expect(patch.requestBody.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/HookUpdate' });
    const ids = Object.values<Record<string, { operationId: string }>>(body.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the rate limit', () => {
  test('is shown in GitHub’s headers and text, for each caller separately', async () => {
    await using limited = await openApi({ RATE_LIMIT_PER_HOUR: '3' });
    const token = await limited.tokens.user('auth0|alice', 'repo');
    const remaining: (string | null)[] = [];
    for (let index = 0; index < 3; index += 1)
      remaining.push((await call(limited, token, 'GET', hooks)).headers.get('x-ratelimit-remaining'));
    expect(remaining).toEqual(['2', '1', '0']);
    const refused = await call(limited, token, 'GET', hooks);
    expect(refused).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/^API rate limit exceeded for /) },
    });
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(refused.headers.get('retry-after')).toBeNull();
    // The first one over the limit was refused, and all that followed were let in.
    for (let index = 0; index < 3; index += 1) {
      const again = await call(limited, token, 'GET', hooks);
      expect(again.status).toBe(403);
      expect(again.headers.get('x-ratelimit-used')).toBe('3');
    }
    const asked = await call(limited, token, 'GET', '/rate_limit');
    const reset = Number(refused.headers.get('x-ratelimit-reset'));
    const core = { limit: 3, used: 3, remaining: 0, reset: expect.any(Number), resource: 'core' };
    expect(asked).toMatchObject({ status: 200, body: { resources: { core }, rate: core } });
    expect(Math.abs(asked.body.rate.reset - reset)).toBeLessThanOrEqual(60); // of the same hour
    expect(await call(limited, await limited.tokens.machine('m2m', 'repo'), 'GET', hooks)).toMatchObject({
      status: 200,
    });
  });

  test('counts simultaneous requests one by one', async () => {
    await using limited = await openApi({ RATE_LIMIT_PER_HOUR: '10' });
    const token = await limited.tokens.user('auth0|alice', 'repo');
    const answers = await Promise.all(Array.from({ length: 15 }, () => call(limited, token, 'GET', hooks)));
    const used = answers.filter(({ status }) => status === 200).map(({ headers }) => headers.get('x-ratelimit-used'));
    expect(used.map(Number).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(5);
  });

  test('can be asked for without using it up, even without a token', async () => {
    const token = await api.tokens.machine('asking', 'repo');
    for (let index = 0; index < 3; index += 1) {
      expect(await call(api, token, 'GET', '/rate_limit')).toMatchObject({
        status: 200,
        body: { rate: { limit: 5000, used: 0, remaining: 5000 } },
      });
    }
    expect((await call(api, undefined, 'GET', '/api/v3/rate_limit')).status).toBe(200);
  });

  // hub4j takes a token for a wrong one without them (`GitHub.isCredentialValid()`).
  test('names the four resources that hub4j reads, of which only `core` is used up', async () => {
    const token = await api.tokens.machine('spending', 'repo');
    await call(api, token, 'GET', '/user');
    const { body, headers } = await call(api, token, 'GET', '/rate_limit');
    const { reset } = body.rate;
    // octokit.rb reads these instead of the body.
    expect(headers.get('x-ratelimit-remaining')).toBe('4999');
    expect(headers.get('x-ratelimit-reset')).toBe(String(reset));
    const unused = (resource: string) => ({ limit: 5000, used: 0, remaining: 5000, reset, resource });
    expect(body.resources).toEqual({
      core: { limit: 5000, used: 1, remaining: 4999, reset, resource: 'core' },
      search: unused('search'),
      graphql: unused('graphql'),
      integration_manifest: unused('integration_manifest'),
    });
  });

  test('is absent when it is switched off', async () => {
    await using unlimited = await openApi({ RATE_LIMIT_PER_HOUR: '0' });
    const { headers } = await call(unlimited, await unlimited.tokens.user('auth0|alice', 'repo'), 'GET', hooks);
    expect(headers.get('x-ratelimit-limit')).toBeNull();
    expect(await call(unlimited, undefined, 'GET', '/rate_limit')).toMatchObject({ status: 404 });
  });

  test('for simultaneous requests is GitHub’s secondary rate limit', async () => {
    await using narrow = await openApi({ RATE_LIMIT_CONCURRENT: '2' });
    const token = await narrow.tokens.user('auth0|alice', 'repo');
    const answers = await Promise.all(Array.from({ length: 40 }, () => call(narrow, token, 'GET', hooks)));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.message).toMatch(/\bsecondary rate\b/);
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2);
    expect(await call(narrow, token, 'GET', hooks)).toMatchObject({ status: 200 });
  });
});
