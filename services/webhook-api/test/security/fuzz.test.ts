/** Whatever is asked, of any route and by anybody: no fault of ours, an answer that the description promises, and nobody's secret in it. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { makeSeal } from '@gatepost/runtime/seal';
import { deepJson, fuzz, oddText, oddValue } from '@gatepost/testkit/fuzz';
import { hookCredentialsPurpose, hookHeadersPurpose, hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { routes } from '../../src/routes.ts';
import { type Api, openApi } from '../support/api.ts';
import { findProblem } from '../support/conformance.ts';
import { recordDelivery } from '../support/jobs.ts';

// Stands in every secret that is stored or sent, and must stand in no answer.
const canary = 'c4n4ry';
let api: Api;
/** Authorization headers of those who ask. */
let callers: Record<string, string | undefined>;
let hookIds: number[];
let deliveryId: number;

beforeAll(async () => {
  api = await openApi({ RATE_LIMIT_PER_HOUR: '0' });
  const scope = 'repo admin:org_hook admin:org';
  const bearer = async (token: Promise<string>) => `Bearer ${await token}`;
  callers = {
    owner: await bearer(api.tokens.user('auth0|alice', scope)),
    machine: await bearer(api.tokens.machine('m2m', `${scope} site_admin`)),
    reader: await bearer(api.tokens.user('auth0|alice', 'read:repo_hook')),
    app: await bearer(api.tokens.app('auth0|alice', scope, 'some-app')),
    stranger: await bearer(api.tokens.user('auth0|olga', scope)),
    nobody: undefined,
  };
  const seal = makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64'));
  const { rows } = await api.sql.query(
    `INSERT INTO hooks (account_id, repository_id, events, url, content_type, secret, headers, credentials, created_by, created_by_app)
     SELECT a.id, CASE WHEN n < 3 THEN r.id END, '{push}', 'https://example.com/' || n, 'json', $1, $2, $3, 'x', CASE WHEN n = 4 THEN 'some-app' END
       FROM accounts a JOIN repositories r ON r.account_id = a.id, generate_series(1, 4) n WHERE a.login = 'acme' AND r.name = 'gadgets'
     RETURNING id`,
    [
      seal.seal(`${canary}-secret`, hookSecretPurpose),
      seal.seal(JSON.stringify({ Authorization: `${canary}-header` }), hookHeadersPurpose),
      seal.seal(`${canary}:${canary}-password`, hookCredentialsPurpose),
    ],
  );
  hookIds = rows.map(({ id }) => id);
  deliveryId = await recordDelivery(api.sql, { hookId: hookIds[0]! });
});
afterAll(async () => await api?.[Symbol.asyncDispose]());

const mostly = (good: fc.Arbitrary<unknown>, odd: fc.Arbitrary<unknown> = oddValue) =>
  fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: odd });
const marked = oddText.map((text) => `${canary}${text}`);
/** A secret of any shape: what a client sends in its place may be one as well. */
const secret: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: marked },
  { weight: 1, arbitrary: marked.map((text) => [text]) },
  { weight: 1, arbitrary: marked.map((text) => ({ value: { [text]: text } })) },
);
const url = fc.oneof(
  fc.nat({ max: 60 }).map((index) => `https://example.com/${index}`),
  fc.webUrl(),
  fc.constantFrom(
    'http://localhost',
    'http://[::1]:0',
    'https://u:p@h/',
    `https://${canary}:${canary}@example.com/`,
    'https://********:********@example.com/1',
    'file:///etc/passwd',
    '//x',
    'http://0/',
    'http://127.1/',
    'https://xn--mnchen-3ya.example:443/',
  ),
);
const config = fc.record(
  {
    url: mostly(url),
    content_type: mostly(fc.constantFrom('json', 'form', '')),
    secret: mostly(fc.constantFrom('********', ''), secret),
    insecure_ssl: mostly(fc.constantFrom<unknown>('0', '1', 0, 1, true)),
    retry: mostly(fc.constantFrom('on', 'off')),
    headers: mostly(
      fc.dictionary(
        fc.constantFrom('Authorization', 'X-Key', 'x-key', 'Host', 'X-GitHub-Event', '__proto__'),
        fc.oneof(secret, fc.constant('********')),
        { maxKeys: 3 },
      ),
      secret,
    ),
    unknown: oddValue,
  },
  { requiredKeys: [] },
);
const events = mostly(fc.array(fc.constantFrom('push', 'issues', '*', 'no_such'), { maxLength: 3 }));
const hookBody = fc.record(
  {
    name: mostly(fc.constantFrom('web', 'cli')),
    config: fc.oneof({ weight: 6, arbitrary: config }, { weight: 1, arbitrary: oddValue }),
    events,
    add_events: events,
    remove_events: events,
    active: mostly(fc.boolean()),
  },
  { requiredKeys: ['config'] },
);
const otherBody = fc.record(
  {
    login: mostly(fc.constantFrom('newco', 'acme')),
    admin: mostly(fc.constantFrom('auth0|dave')),
    role: mostly(fc.constantFrom('member', 'admin')),
    enabled: mostly(fc.boolean()),
    rate: mostly(fc.constantFrom(1, 0.5)),
    burst: mostly(fc.constantFrom(1, 10)),
    name: mostly(fc.constantFrom('gizmos')),
    description: mostly(oddText),
    private: mostly(fc.boolean()),
    archived: mostly(fc.boolean()),
    default_branch: mostly(fc.constantFrom('main')),
    query: mostly(fc.constantFrom('{viewer{login}}', 'query UserCurrent{viewer{login}}')),
    names: mostly(fc.constantFrom(['a'], ['b', 'a'])),
  },
  { requiredKeys: [] },
);
const bodyOf = (path: string) =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: (path.endsWith('/config') ? config : path.includes('/hooks') ? hookBody : otherBody).map((body) =>
        JSON.stringify(body),
      ),
    },
    { weight: 1, arbitrary: oddValue.map((value) => JSON.stringify(value)) },
    {
      weight: 1,
      arbitrary: fc.oneof(
        deepJson,
        deepJson.map((text) => `{"config":${text},"events":${text}}`),
        oddText,
      ),
    },
  );
const queryValue = fc.oneof(
  oddText,
  fc.constantFrom(
    '1',
    '100',
    '-1',
    'v1_1',
    'v1_t1_1',
    'success',
    'true',
    'push',
    'day',
    '7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70',
  ),
  fc.constantFrom('0000-01-01T00:00:00Z', '2026-11-22T10:00:00+14:00', '9999-12-31T23:59:59.999999Z'),
);
/** Of the parameters that a route has, and of others. */
const queryOf = (names: string[]) =>
  fc.dictionary(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('per_page', 'page', '__proto__', ...names) },
      { weight: 1, arbitrary: oddText },
    ),
    queryValue,
    {
      maxKeys: 4,
    },
  );
/** As it may stand on the wire; the client refuses the rest itself. */
const headerText = oddText.map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?'));
const headers = fc.dictionary(
  fc.constantFrom(
    'accept',
    'content-type',
    'content-encoding',
    'x-github-api-version',
    'if-none-match',
    'last-event-id',
    'origin',
    'cookie',
    'range',
    'x-http-method-override',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'forwarded',
    'host',
    'user-agent',
    'traceparent',
  ),
  fc.oneof(
    headerText,
    fc.constantFrom('application/json', 'gzip', 'identity', '*', 'DELETE', '2022-11-28', 'a.example'),
  ),
  { maxKeys: 3 },
);
type Asked = {
  route: { method: string; path: string };
  caller: string;
  hostile: string | undefined;
  pick: number;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: string;
};
const asked: fc.Arbitrary<Asked> = fc
  .constantFrom(
    ...routes.map(({ method, path, operation }) => ({
      method,
      path,
      names: Object.keys(operation.query?.shape ?? {}),
    })),
  )
  .chain(({ names, ...route }) =>
    fc.record({
      route: fc.constant(route),
      caller: fc.constantFrom('owner', 'owner', 'machine', 'reader', 'app', 'stranger', 'nobody'),
      hostile: fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: oddText }),
      pick: fc.nat({ max: 3 }),
      query: fc.oneof(
        { weight: 2, arbitrary: fc.constant({}) },
        { weight: names.length > 2 ? 3 : 1, arbitrary: queryOf(names) },
      ),
      headers: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: headers }),
      body: bodyOf(route.path),
    }),
  );

function pathOf({ route, hostile, pick, query }: Asked): string {
  const known: Record<string, string> = {
    owner: 'acme',
    org: route.method === 'delete' && route.path.startsWith('/admin/') ? 'newco' : 'acme',
    // One that may be renamed or go.
    repo: route.method !== 'get' && route.path.endsWith('{repo}') ? 'widgets' : 'gadgets',
    login: 'acme',
    // Those that the others ask about are not deleted.
    hook_id: route.method === 'delete' ? '2147483647' : String(hookIds[pick]),
    delivery_id: String(deliveryId),
    guid: '7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70',
    letter_id: '23a724187731c274a48fc6c9',
    replay_id: '1',
    client_id: 'other-app',
    subject: 'auth0|dave',
    username: 'acme',
    repository_id: '1',
    organization_id: '1',
  };
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const odd = names[pick % Math.max(names.length, 1)];
  const path = route.path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent((name === odd && hostile ? hostile : known[name]!).toWellFormed()),
  );
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]),
  );
  return `${pick % 2 ? '/api/v3' : ''}${path}${search.size > 0 ? `?${search}` : ''}`;
}

type Raw = { status: number; headers: IncomingHttpHeaders; text: string };

function send(method: string, path: string, headers: Record<string, string>, body: string): Promise<Raw> {
  const { hostname, port } = new URL(api.base);
  return new Promise((resolve, reject) => {
    const named = { 'user-agent': 'fuzz', ...headers };
    const sized = body === '' ? named : { ...named, 'content-length': String(Buffer.byteLength(body)) };
    httpRequest({ hostname, port, path, method, headers: sized }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      const end = () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        });
      response.on('end', end);
      if (!response.headers['content-type']?.startsWith('text/event-stream')) return;
      // It does not end by itself.
      response.once('data', () => {
        end();
        response.destroy();
      });
    })
      .on('error', reject)
      .end(body);
  });
}

test('every request gets an answer that is no server error, conforms to the description and shows no secret', async () => {
  const seen = new Set<number>();
  const ask = async (one: Asked) => {
    const authorization = callers[one.caller];
    const method = one.route.method.toUpperCase();
    const path = pathOf(one);
    const sent = { ...one.headers, ...(authorization === undefined ? {} : { authorization }) };
    const { status, headers, text } = await send(method, path, sent, method === 'GET' ? '' : one.body);
    seen.add(status);
    expect({
      method,
      path,
      caller: one.caller,
      headers: sent,
      body: one.body,
      fault: status >= 500 && status,
    }).toMatchObject({ fault: false });
    const answer = JSON.stringify(headers) + text;
    expect(answer).not.toContain(canary);
    if (authorization) expect(answer).not.toContain(authorization.slice(-40));
    const plain = new Response(text === '' ? null : text, {
      status,
      headers: { 'content-type': headers['content-type'] ?? '' },
    });
    expect(await findProblem(new Request(api.base + path, { method }), plain)).toBeUndefined();
  };
  const isWhole = await fuzz(
    fc.array(asked, { minLength: 8, maxLength: 8 }),
    async (batch) => {
      await Promise.all(batch.map(ask));
    },
    { numRuns: 200, timeLimitMs: 10_000 },
  );
  // The generator is worth something only while it gets through to every side of the rules.
  if (isWhole) expect([...seen]).toEqual(expect.arrayContaining([200, 201, 204, 400, 401, 403, 404, 422]));

  // And what went out as payloads, or stands in the database beside what is sealed, holds no secret either.
  const { owner } = callers;
  const pinged = await send('POST', `/repos/acme/gadgets/hooks/${hookIds[0]}/pings`, { authorization: owner! }, '');
  expect(pinged.status).toBe(204);
  const events = await api.sql.query("SELECT convert_from(payload, 'UTF8') AS payload FROM events");
  expect(events.rows.length).toBeGreaterThan(1);
  expect(JSON.stringify(events.rows)).not.toContain(canary);
  const jobs = await api.sql.query('SELECT job FROM parked');
  expect(JSON.stringify(jobs.rows)).not.toContain(canary);
});

test('bytes that are not HTTP only end their connection', async () => {
  const { hostname, port } = new URL(api.base);
  const junk = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc
      .tuple(fc.constantFrom('GET', 'TRACE', 'CONNECT', 'PRI', 'get', 'PATCH'), oddText, oddText)
      .map(([method, target, header]) =>
        Buffer.from(`${method} /${target} HTTP/1.1\r\nHost: x\r\nX: ${header}\r\n\r\n`),
      ),
    fc
      .constantFrom(
        'Content-Length: 5\r\nTransfer-Encoding: chunked',
        'Content-Length: -1',
        'Transfer-Encoding: chunked, chunked',
        'Content-Length: 1\r\nContent-Length: 2',
      )
      .map((header) =>
        Buffer.from(
          `POST /repos/acme/gadgets/hooks HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
        ),
      ),
  );
  await fuzz(
    fc.array(junk, { minLength: 5, maxLength: 5 }),
    async (batch) => {
      await Promise.all(
        batch.map(async (bytes) => {
          const answer = await new Promise<string>((resolve) => {
            let text = '';
            const socket = connect(Number(port), hostname, () => socket.end(bytes));
            socket.on('data', (chunk) => {
              text += chunk.toString('latin1');
            });
            socket.on('error', () => {}); // it was cut off, which is an answer
            socket.on('close', () => resolve(text));
          });
          expect(answer).not.toMatch(/HTTP\/1\.1 (5\d\d|20[012])/);
        }),
      );
      expect((await fetch(`${api.base}/versions`)).status).toBe(200);
    },
    { numRuns: 30, timeLimitMs: 4_000 },
  );
  expect(await (await fetch(`${api.opsBase}/readyz`)).json()).toEqual({ status: 'ready' });
});
