/** Text that parsers and databases stumble over is the client's fault, and is told so: never a fault of ours. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { routes } from '../../src/routes.ts';
import { type Api, audience, call, openApi } from '../support/api.ts';

let api: Api;
let token: string;
let hookId: number;

beforeAll(async () => {
  api = await openApi({ RATE_LIMIT_PER_HOUR: '0' });
  token = await api.tokens.machine('m2m', 'repo admin:org_hook admin:org site_admin');
  const { body } = await call(api, token, 'POST', '/repos/acme/widgets/hooks', {
    config: { url: 'https://example.com/' },
    events: [],
  });
  hookId = body.id;
});
afterAll(async () => await api?.[Symbol.asyncDispose]());

const known: Record<string, string> = {
  owner: 'acme',
  org: 'acme',
  repo: 'widgets',
  login: 'acme',
  client_id: 'app',
  subject: 'x',
};
const withBody = routes.filter(({ operation }) => operation.body !== undefined);
const cases = withBody.map(({ method, path }, turn) => [method.toUpperCase(), path, turn] as const);
const addressOf = (path: string) => path.replace(/\{(\w+)\}/g, (_, name) => known[name] ?? String(hookId));

const deep = (levels: number, inner = '') => '['.repeat(levels) + inner + ']'.repeat(levels);
const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const members = ['config', 'events', 'url', 'headers', 'login', 'admin', 'role', 'enabled', 'rate', 'name', 'unknown'];
/** Half a character, in each way. */
const halves = ['"a\\ud800b"', '"\\udc00"', '["\\udc00\\ud800"]'];
/** Each member is nested too deeply, and has half a character in one of the ways: in which one differs by route. */
const bodiesOf = (turn: number): [what: string, body: string][] => [
  ...[65, 5_000].map((levels): [string, string] => [`${levels} lists`, deep(levels)]),
  ...members.map((name, index): [string, string] => {
    const levels = (turn + index) % 2 === 0 ? 65 : 5_000;
    return [`${levels} lists in ${name}`, `{"${name}":${deep(levels)}}`];
  }),
  ['5,000 objects', deepObject(5_000)],
  ['5,000 objects in a config', `{"config":{"url":"https://example.com/","headers":${deepObject(5_000)}}}`],
  ['lists that never end', '['.repeat(500_000)],
  ...members.map((name, index): [string, string] => [
    `half a character in ${name}`,
    `{"${name}":${halves[(turn + index) % halves.length]}}`,
  ]),
  ['half a character in a name', '{"a\\ud800":1}'],
  ['half a character in a header', '{"config":{"url":"https://example.com/","headers":{"X-A":"\\ud83d"}}}'],
  ['half a character in a secret', '{"config":{"url":"https://example.com/x","secret":"\\ud83d"}}'],
];

describe.each(cases)('%s %s', (method, path, turn) => {
  test('answers 400 to JSON that is nested too deeply or has half a surrogate pair', async () => {
    const bodies = bodiesOf(turn);
    // What used to happen: some of these overflowed the stack while the error message was written (500).
    const answers = await Promise.all(
      bodies.map(
        async ([what, body]) => [what, (await call(api, token, method, addressOf(path), body)).status] as const,
      ),
    );
    expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(bodies.map(([what]) => [what, 400])));
  });

  test('answers no 5xx to NUL and other control characters in any text', async () => {
    const text = '\u0000\u0001\u009f\ufffe\u{10ffff}';
    const names = ['config', 'secret', ...members];
    const whole = {
      ...Object.fromEntries(names.map((name) => [name, text])),
      config: { url: 'https://example.com/' },
      events: [],
    };
    const odd = names.flatMap((name) => [
      { [name]: text },
      { [name]: [text] },
      { [name]: { [text]: text } },
      { ...whole, [name]: text },
    ]);
    const inConfig = names.map((name) => ({ config: { ...whole.config, [name]: text }, events: [] }));
    for (const body of [...odd, ...inConfig])
      expect((await call(api, token, method, addressOf(path), body)).status).toBeLessThan(500);
  });
});

test('text that only looks like deep nesting or half a surrogate pair is accepted', async () => {
  const secret = `${'['.repeat(300)}\\ud800 "\\" 😀`;
  const config = { url: 'https://example.com/brackets', secret };
  const { status } = await call(api, token, 'POST', '/repos/acme/widgets/hooks', {
    config,
    events: [],
    unknown: JSON.parse(deep(60)),
  });
  expect(status).toBe(201);
  const escaped = `{"config":{"url":"https://example.com/escaped","secret":"\\ud83d\\ude00 \\\\ud800"},"events":[]}`;
  expect((await call(api, token, 'POST', '/repos/acme/widgets/hooks', escaped)).status).toBe(201);
});

test('NUL bytes and broken encodings in a path or query cause no server error', async () => {
  const odd = [
    '%00',
    'a%00b',
    '%ED%A0%80',
    '%c0%80',
    '%zz',
    '%',
    '%u0000',
    '%F0%9F',
    '\u0001'.replace('\u0001', '%01'),
  ];
  for (const { path, method } of routes)
    for (const text of odd) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
      for (const hostile of names) {
        const address = path.replace(/\{(\w+)\}/g, (_, name) =>
          name === hostile ? text : (known[name] ?? String(hookId)),
        );
        const { status } = await call(api, token, method.toUpperCase(), address);
        expect([404, 422]).toContain(status);
      }
      if (method === 'get')
        expect(
          (await call(api, token, 'GET', `${addressOf(path)}?cursor=${text}&page=${text}&${text}=${text}`)).status,
        ).toBeLessThan(500);
    }
});

test('a token whose claims fit in no database or header is refused', async () => {
  const claims = { aud: audience, sub: 'auth0|alice', client_id: 'web', scope: 'repo', first_party: true };
  for (const bad of [
    { sub: 'auth0|alice\u0000' },
    { sub: 'auth0|a\ud800' },
    { sub: '' },
    { sub: 'x'.repeat(257) },
    { client_id: 'we\u0000b' },
    { client_id: '\udc00' },
    { sub: 'm\n', client_id: 'm\n' },
  ])
    expect(
      await call(api, await api.issuer.sign({ ...claims, ...bad }), 'GET', '/repos/acme/widgets/hooks'),
    ).toMatchObject({
      status: 401,
    });
  for (const scope of ['repo é', 'repo a\r\nX-Evil: 1', 'repo \u0000', 'repo "\\']) {
    const { status, headers } = await call(
      api,
      await api.issuer.sign({ ...claims, scope }),
      'GET',
      '/repos/acme/widgets/hooks',
    );
    expect({ status, scopes: headers.get('x-oauth-scopes'), evil: headers.get('x-evil') }).toMatchObject({
      status: 200,
      evil: null,
    });
    expect(headers.get('x-oauth-scopes')).toMatch(/^[\x21-\x7e, ]*repo/);
  }
});
