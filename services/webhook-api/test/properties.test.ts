/** Whatever is sent, the answer has GitHub's form, conforms to the description, and is never a fault of ours (5xx). */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { routes } from '../src/routes.ts';
import { type Api, openApi } from './support/api.ts';
import { checkedFetch } from './support/conformance.ts';
import { recordDelivery } from './support/jobs.ts';

let api: Api;
let token: string;
let hookId: number;
let deliveryId: number;

beforeAll(async () => {
  api = await openApi({ RATE_LIMIT_PER_HOUR: '0' });
  token = await api.tokens.user('auth0|alice', 'repo admin:org_hook admin:org site_admin');
  const { rows } = await api.sql.query(
    `INSERT INTO hooks (account_id, repository_id, events, url, content_type, created_by)
     SELECT a.id, r.id, '{push}', 'https://example.com/', 'json', 'x' FROM accounts a JOIN repositories r ON r.account_id = a.id
      WHERE a.login = 'acme' AND r.name = 'gadgets' RETURNING id`,
  );
  hookId = rows[0].id;
  deliveryId = await recordDelivery(api.sql, { hookId });
});
afterAll(async () => await api?.[Symbol.asyncDispose]());

// Values that stand where others are wanted: every JSON type, and texts that have broken somebody's parser, database or log.
const nasty = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    2 ** 53,
    '',
    ' ',
    '********',
    '*',
    'json',
    'form',
    '1',
    'on',
    'off',
    'push',
    'web',
  ),
  fc.constantFrom(
    '\u0000',
    '\ud800',
    '\u202e',
    "'; DROP TABLE hooks; --",
    '#{7*7}',
    '../../etc/passwd',
    '%00',
    '<script>',
    '1e999',
  ),
  fc.constantFrom(
    'http://localhost',
    'https://example.com',
    'http://[::1]:0',
    'http://a b',
    'https://u:p@h/',
    'file:///etc/passwd',
    '//x',
    'http://0/',
  ),
  fc.webUrl(),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ minLength: 3000, maxLength: 3100 }),
  fc.array(fc.string({ unit: 'binary', maxLength: 10 }), { maxLength: 5 }),
  fc.dictionary(fc.string({ unit: 'binary', maxLength: 10 }), fc.string({ unit: 'binary', maxLength: 10 }), {
    maxKeys: 4,
  }),
  fc.jsonValue({ maxDepth: 3 }),
);
const configKeys = ['url', 'content_type', 'secret', 'insecure_ssl', 'retry', 'headers', '__proto__', 'constructor'];
const configs = fc.dictionary(fc.constantFrom(...configKeys), nasty, { maxKeys: 6 });
const keys = [
  'name',
  'config',
  'events',
  'add_events',
  'remove_events',
  'active',
  'login',
  'admin',
  'role',
  'enabled',
  'rate',
  'burst',
  '__proto__',
];
const bodies = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .dictionary(fc.constantFrom(...keys), fc.oneof(nasty, configs), { maxKeys: 6 })
      .map((body) => JSON.stringify(body)),
  },
  {
    weight: 2,
    arbitrary: configs.map((config) =>
      JSON.stringify({ config: { url: 'https://example.com/', ...config }, ...config }),
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue().map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
);
const parameters = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
      fc.constantFrom('..', '%', '\u0000', '99999999999999999999', '-1', '1.5', '0'),
    ),
  },
);
const queries = fc.dictionary(
  fc.constantFrom('per_page', 'page', 'cursor', 'status', 'redelivery'),
  fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.integer().map(String)),
  { maxKeys: 3 },
);

const writing = routes.filter(({ method }) => method !== 'get' && method !== 'delete');
const reading = routes.filter(({ method }) => method === 'get');

function pathOf(template: string, hostile: string | undefined, method: string): string {
  const known: Record<string, string> = {
    owner: 'acme',
    org: 'acme',
    // One that may be renamed.
    repo: method !== 'get' && template.endsWith('{repo}') ? 'widgets' : 'gadgets',
    login: 'acme',
    hook_id: String(hookId),
    guid: '7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70',
    letter_id: '23a724187731c274a48fc6c9',
    replay_id: '1',
    delivery_id: String(deliveryId),
    client_id: 'app',
    subject: 'auth0|dave',
    username: 'auth0|alice',
    repository_id: '1',
    organization_id: '1',
  };
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return template.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent((name === names.at(-1) && hostile !== undefined ? hostile : known[name]!).toWellFormed()),
  );
}

describe('no request is answered with a server error', () => {
  test('whatever the body, on every route that takes one', async () => {
    const seen = new Set<number>();
    const requests = fc.array(fc.tuple(fc.constantFrom(...writing), bodies, parameters), {
      minLength: 8,
      maxLength: 8,
    });
    const send = async ([route, body, hostile]: [(typeof writing)[number], string, string | undefined]) => {
      const response = await checkedFetch(api.base + pathOf(route.path, hostile, route.method), {
        method: route.method.toUpperCase(),
        headers: { authorization: `Bearer ${token}` },
        body,
      });
      seen.add(response.status);
      expect(response.status).toBeLessThan(500);
    };
    await fc.assert(
      fc.asyncProperty(requests, async (batch) => {
        await Promise.all(batch.map(send));
      }),
      { numRuns: 150 },
    );
    // The generator is worth something only while it gets through to both sides of the rules.
    expect([...seen]).toEqual(expect.arrayContaining([400, 404, 422]));
    expect([...seen].some((status) => status < 300)).toBe(true);
  });

  test('whatever the path and query, on every route that reads', async () => {
    const requests = fc.array(fc.tuple(fc.constantFrom(...reading), parameters, queries), {
      minLength: 8,
      maxLength: 8,
    });
    const send = async ([route, hostile, query]: [
      (typeof reading)[number],
      string | undefined,
      Record<string, string>,
    ]) => {
      const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, value.toWellFormed()]));
      const response = await checkedFetch(`${api.base}${pathOf(route.path, hostile, route.method)}?${search}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.status).toBeLessThan(500);
    };
    await fc.assert(
      fc.asyncProperty(requests, async (batch) => {
        await Promise.all(batch.map(send));
      }),
      { numRuns: 60 },
    );
  });

  test('whatever the credentials', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme-ascii', maxLength: 100 }), async (text) => {
        const status = await statusOf({ 'user-agent': 'test', authorization: text });
        expect([401]).toContain(status);
      }),
      { numRuns: 150 },
    );
  });
});

/** fetch would refuse or trim some of these itself. */
function statusOf(headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest(`${api.base}/repos/acme/gadgets/hooks`, { headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end();
  });
}
