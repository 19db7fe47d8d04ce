/** Addresses in answers are the installation's own: what a request says of its host is anybody's word. */
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { readEnv } from '@gatepost/runtime/env';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Octokit } from '@octokit/rest';
import { variables } from '../../src/config.ts';
import { type Api, call, openApi } from '../support/api.ts';
import { openJobs } from '../support/jobs.ts';

let api: Api;
let alice: string;
let path: string;
let port: string;
const hooks = '/repos/acme/widgets/hooks';

beforeAll(async () => {
  api = await openApi({ TRUSTED_PROXIES: 'loopback' });
  port = new URL(api.base).port;
  alice = await api.tokens.user('auth0|alice', 'repo admin:org');
  for (const name of ['one', 'two', 'three'])
    path = `${hooks}/${(await call(api, alice, 'POST', hooks, { config: { url: `https://example.com/${name}` } })).body.id}`;
});
afterAll(async () => await api?.[Symbol.asyncDispose]());

type Raw = { status: number; text: string; headers: Record<string, string | string[] | undefined> };

/** With a `Host` of one's own, which fetch does not let one set. */
function raw(base: string, target: string, headers: OutgoingHttpHeaders, method = 'GET', token = alice): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    httpRequest(
      {
        hostname,
        port,
        path: target,
        method,
        headers: { 'user-agent': 'test', authorization: `token ${token}`, ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString() + JSON.stringify(response.headers),
            headers: response.headers,
          }),
        );
      },
    )
      .on('error', reject)
      .end();
  });
}

describe('a forged host', () => {
  // What used to happen: links, hooks and the pings of receivers named whatever host a request had brought.
  test.each<OutgoingHttpHeaders>([
    { host: 'evil.example' },
    { host: 'evil.example:4500' },
    { host: 'localhost.evil.example' },
    { host: 'localhost:1' },
    { host: '127.0.0.1' },
    { host: 'evil"><script>' },
    { host: 'localhost@evil.example' },
    { host: '' },
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'javascript' },
    { forwarded: 'host=evil.example;proto=https' },
    { 'x-forwarded-prefix': '/evil.example', 'x-original-url': '/evil.example' },
  ])('of a request appears in no answer: %j', async (headers) => {
    for (const target of [path, `${hooks}?per_page=1`, '/orgs/acme/repos', '/openapi.json', '/docs', '/orgs/acme']) {
      const { status, text } = await raw(api.base, target, headers);
      expect(status).toBe(200);
      expect(text).not.toMatch(/evil|javascript:/);
    }
    const { text } = await raw(api.base, path, headers);
    expect(text).toMatch(new RegExp(`"url":"http://(localhost|127\\.0\\.0\\.1):${port}${path}"`));
  });

  test('of a request appears in no ping', async () => {
    await using jobs = await openJobs(api);
    expect(await raw(api.base, `${path}/pings`, { host: 'evil.example' }, 'POST')).toMatchObject({ status: 204 });
    const { payload } = await jobs.next(({ job }) => path.endsWith(`/${job.hookId}`) && job.event === 'ping');
    expect(payload.hook.url).toMatch(new RegExp(`^http://(localhost|127\\.0\\.0\\.1):${port}/repos/`));
    await raw(api.base, `${path}/pings`, { 'x-forwarded-host': 'evil.example' }, 'POST');
    const { payload: made } = await jobs.next((one) => path.endsWith(`/${one.job.hookId}`) && one.payload !== payload);
    expect(JSON.stringify(made)).not.toContain('evil');
  });

  test('in the target of a request appears in no answer', async () => {
    const { text } = await raw(api.base, `http://evil.example${hooks}?per_page=1`, {});
    expect(text).not.toContain('evil.example');
  });
});

describe('the names of this machine', () => {
  test.each(['localhost', '127.0.0.1', '[::1]', 'LOCALHOST'])(
    '%s is answered with itself, so that links lead back',
    async (name) => {
      const { headers, text } = await raw(api.base, `/api/v3${hooks}?per_page=1`, { host: `${name}:${port}` });
      const base = `http://${name.toLowerCase()}:${port}/api/v3`;
      expect(headers.link).toContain(`<${base}${hooks}?per_page=1&page=2>; rel="next"`);
      expect(text).toContain(`"url":"${base}${hooks}/`);
    },
  );

  test.each(['http://localhost', 'http://127.0.0.1'])('%s is enough for Octokit to follow pages', async (start) => {
    const octokit = new Octokit({ baseUrl: `${start}:${port}/api/v3`, auth: alice });
    const all = await octokit.paginate('GET /repos/{owner}/{repo}/hooks', {
      owner: 'acme',
      repo: 'widgets',
      per_page: 1,
    });
    expect(all).toHaveLength(3);
  });
});

describe('a configured address', () => {
  test.each([
    ['https://hooks.example', 'https://hooks.example'],
    ['https://hooks.example:8443/post/', 'https://hooks.example:8443/post'],
  ])('%s starts every link, whatever host the proxy passes on', async (configured, base) => {
    await using own = await openApi({ WEBHOOK_API_URL: configured, TRUSTED_PROXIES: 'loopback' });
    const token = await own.tokens.user('auth0|alice', 'repo');
    const ownPort = new URL(own.base).port;
    const made = await call(own, token, 'POST', `/api/v3${hooks}`, { config: { url: 'https://example.com/' } });
    expect(made.headers.get('location')).toBe(`${base}/api/v3${hooks}/${made.body.id}`);
    for (const headers of [
      {},
      { host: `localhost:${ownPort}` },
      { host: 'evil.example' },
      { 'x-forwarded-host': 'evil.example' },
    ]) {
      const { text } = await raw(own.base, `${hooks}/${made.body.id}`, headers, 'GET', token);
      expect(text).toContain(`"url":"${base}${hooks}/${made.body.id}"`);
    }
    expect((await call(own, undefined, 'GET', '/openapi.json')).body.servers).toEqual([{ url: base }]);
  });

  test.each(['hooks.example', 'ftp://hooks.example/', 'https://hooks.example/?a=b', 'https://user:pw@hooks.example/'])(
    'is refused if it is not a base URL: %s',
    (configured) => {
      expect(() => readEnv(variables, { ...api.env, WEBHOOK_API_URL: configured })).toThrow('WEBHOOK_API_URL');
    },
  );
});
