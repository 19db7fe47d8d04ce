/**
 * Whatever is thrown at whichever endpoint, the gate answers in its protocols' own words: never 5xx, never a redirect to a place
 * that was not verified, errors as JSON with an OAuth code or as a page, and it stays well.
 */
import { randomInt } from 'node:crypto';
import { Agent, request } from 'node:http';
import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { callback, openTarget } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer } = target;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
stack.defer(() => agent.destroy());
// No request below names this client, so its secret is not among what is guessed at.
const managerToken = () =>
  target.machineToken({ client_id: 'manager', client_secret: 'manager-secret', audience: `${issuer}api/v2/` });
const management = await managerToken();
const bearer = `Bearer ${management.json.access_token}`;

const posts = [
  'oauth/token',
  'oauth/revoke',
  'oauth/introspect',
  'oauth/par',
  'oauth/device/code',
  'oidc/register',
  'passwordless/start',
  'passwordless/verify',
  'dbconnections/signup',
  'dbconnections/change_password',
];
const both = [
  'authorize',
  'userinfo',
  'oidc/logout',
  'oidc/logout/confirm',
  'activate',
  'change-password',
  'passwordless/link',
  'interaction/x',
  'interaction/x/password',
];
const gets = [
  'v2/logout',
  'passwordless/verify_redirect',
  '.well-known/openid-configuration',
  '.well-known/oauth-authorization-server',
  '.well-known/jwks.json',
  'oidc/logout/success',
];
const managed = [
  'api/v2/clients',
  'api/v2/client-grants',
  'api/v2/resource-servers',
  'api/v2/users',
  'api/v2/connections',
  'api/v2/device-credentials',
  'api/v2/grants',
  'api/v2/logs',
  'api/v2/tenants/settings',
  'api/v2/keys/signing',
  'api/v2/registration-tokens',
  'api/v2/users/auth0%7Calice',
];

const names = [
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'prompt',
  'max_age',
  'audience',
  'resource',
  'connection',
  'code',
  'code_verifier',
  'code_challenge',
  'code_challenge_method',
  'grant_type',
  'refresh_token',
  'token',
  'token_type_hint',
  'request',
  'request_uri',
  'claims',
  'id_token_hint',
  'login_hint',
  'ui_locales',
  'acr_values',
  'display',
  'username',
  'password',
  'realm',
  'otp',
  'email',
  'phone_number',
  'verification_code',
  'client_assertion',
  'client_assertion_type',
  'subject_token',
  'subject_token_type',
  'device_code',
  'user_code',
  'returnTo',
  'post_logout_redirect_uri',
  'xsrf',
  'ticket',
  'ext',
  'ext-a',
  'offline',
  'login_ticket',
  'screen_hint',
  'organization',
  'dpop_jkt',
  'page',
  'per_page',
  'q',
  'sort',
  'from',
  'take',
  'fields',
  'identifier',
  '__proto__',
  'constructor',
  'toString',
  'access_token',
];
const good = [
  'spa',
  'web',
  'machine',
  'native',
  'trusted',
  'keyed',
  'web-secret',
  'machine-secret',
  callback,
  'code',
  'token',
  'id_token token',
  'code id_token',
  'query',
  'fragment',
  'form_post',
  'web_message',
  'jwt',
  'openid',
  'openid offline_access',
  'none',
  'login',
  'consent',
  'S256',
  'x'.repeat(43),
  'authorization_code',
  'client_credentials',
  'refresh_token',
  'password',
  'urn:ietf:params:oauth:grant-type:device_code',
  'urn:ietf:params:oauth:grant-type:token-exchange',
  'http://auth0.com/oauth/grant-type/passwordless/otp',
  'urn:ietf:params:oauth:token-type:access_token',
  'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  'https://api.example.com/',
  'email',
  'sms',
  'alice@example.com',
  'Username-Password-Authentication',
  'send',
  '0',
  '{"id_token":{"sub":null}}',
  'access_token',
];
const evil = [
  'https://evil.example/',
  '//evil.example',
  'javascript:alert(1)',
  '%00',
  'a%00b',
  '%ff%fe',
  '%ed%a0%80',
  '%c0%af',
  '%zz',
  '%',
  '%2',
  '%0d%0aSet-Cookie:x=1',
  '__proto__',
  '[object Object]',
  '{',
  '{"a":',
  '[[[[',
  'null',
  '-1',
  '1e999',
  'NaN',
  '9'.repeat(30),
  "'",
  "' OR 1=1 --",
  '{{7*7}}',
  '../../etc/passwd',
  'eyJhbGciOiJub25lIn0.e30.',
  'a.b.c',
  '.',
  '..',
  '....',
  '~~~',
  '%F0%9F%98%80'.repeat(200),
  'x'.repeat(9_000),
  '\u2028',
  ' ',
  '%20%20',
  '+',
];

// What stands in a query or a form: already escaped, or deliberately not.
const escaped = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...good).map(encodeURIComponent) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...evil).map((text) => text.replaceAll(' ', '%20').replaceAll('\u2028', '%E2%80%A8')),
  },
  {
    weight: 2,
    arbitrary: fc.string({ unit: 'binary', maxLength: 30 }).map((text) => encodeURIComponent(text.toWellFormed())),
  },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 20 })
      .map((bytes) => [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')),
  },
);
const name = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...names) },
  { weight: 1, arbitrary: fc.constantFrom('a[b]', 'client_id[]', '%00', '%ff', '', 'x'.repeat(500)) },
);
const pairs = fc
  .array(fc.tuple(name, escaped), { maxLength: 14 })
  .map((list) => list.map(([key, value]) => `${key}=${value}`).join('&'));
// A request that goes deep now and then: well begun, one thing wrong.
const begun = fc.constantFrom(
  '',
  `client_id=spa&redirect_uri=${encodeURIComponent(callback)}&response_type=code&scope=openid&`,
  'client_id=web&client_secret=web-secret&grant_type=authorization_code&',
  'client_id=native&connection=email&send=code&',
  'client_id=spa&connection=Username-Password-Authentication&',
);
const json = fc.oneof(
  fc
    .dictionary(fc.constantFrom(...names), fc.oneof(fc.constantFrom(...good, ...evil), fc.jsonValue({ maxDepth: 3 })))
    .map((value) => JSON.stringify(value)),
  fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '',
    '{',
    '[]',
    'null',
    '"x"',
    '{"a":1',
    '{"__proto__":{"x":1}}',
    '['.repeat(20_000),
    `${'{"a":'.repeat(8_000)}1${'}'.repeat(8_000)}`,
    '{"client_id":"\\u0000"}',
    '{"client_id":"\\ud800"}',
    '{"client_id":"spa","email":"\\udfff"}',
    'x'.repeat(60_000),
  ),
);
const headers = fc.record(
  {
    authorization: fc.constantFrom(
      bearer,
      'Bearer x',
      'Bearer a.b.c',
      'Bearer',
      'Basic',
      'Basic ???',
      `Basic ${btoa('web:web-secret')}`,
      `Basic ${btoa('%00:%ff')}`,
      'DPoP a.b.c',
      'x'.repeat(4_000),
    ),
    cookie: fc.constantFrom('_session=x; _session.sig=y', '_interaction=%00', '_session=__proto__', '=;;;='),
    dpop: fc.constantFrom('x', 'a.b.c', 'eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6Im5vbmUifQ.e30.'),
    origin: fc.constantFrom('null', 'https://evil.example', 'https://app.example', 'x'),
    accept: fc.constantFrom('text/html', 'application/json', '*/*', 'x/y'),
    'accept-language': fc.constantFrom('de', 'xx', '../..', 'a'.repeat(500)),
    'content-encoding': fc.constantFrom('gzip', 'identity'),
    'auth0-forwarded-for': fc.constantFrom('x', '1.2.3.4', '\u00ff'),
  },
  { requiredKeys: [] },
);

type Attempt = {
  method: string;
  path: string;
  type: string | undefined;
  body: string | undefined;
  headers: Record<string, string | undefined>;
};
const attempt: fc.Arbitrary<Attempt> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      method: fc.constantFrom('GET', 'HEAD'),
      path: fc
        .tuple(fc.constantFrom(...both, ...gets), begun, pairs)
        .map(([path, start, rest]) => `${path}?${start}${rest}`),
      type: fc.constant(undefined),
      body: fc.constant(undefined),
      headers,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      method: fc.constant('POST'),
      path: fc.constantFrom(...posts, ...both),
      type: fc.constant('application/x-www-form-urlencoded'),
      body: fc.tuple(begun, pairs).map((parts) => parts.join('')),
      headers,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      method: fc.constant('POST'),
      path: fc.constantFrom(...posts, ...both),
      type: fc.constantFrom(
        'application/json',
        'application/json; charset=utf-8',
        'text/plain',
        'application/json; charset=x',
      ),
      body: json,
      headers,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      method: fc.constantFrom('GET', 'POST', 'PATCH', 'PUT', 'DELETE'),
      path: fc
        .tuple(
          fc.constantFrom(
            ...managed,
            ...managed.map((path) => `${path}/x%00`),
            ...managed.map((path) => `${path}/%ff`),
          ),
          pairs,
        )
        .map(([path, rest]) => `${path}?${rest}`),
      type: fc.constant('application/json'),
      body: json,
      headers: headers.map((given) => ({ ...given, authorization: bearer })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      method: fc.constantFrom('GET', 'PUT', 'OPTIONS', 'DELETE', 'PROPFIND', 'POST'),
      path: fc.constantFrom(
        ...posts,
        ...both,
        ...gets,
        '',
        '..%2f',
        '%00',
        '%ff',
        'x'.repeat(3_000),
        '.well-known/',
        'api/v2/%00',
        'oidc/register/x',
        '//evil.example',
      ),
      type: fc.constant(undefined),
      body: fc.constant(undefined),
      headers,
    }),
  },
);

type Seen = { status: number; location: string | undefined; type: string; text: string };
function send({ method, path, type, body, headers: given }: Attempt): Promise<Seen> {
  const sent = Object.fromEntries(
    Object.entries({ ...given, 'content-type': type }).filter(([, value]) => value !== undefined),
  );
  const bytes = body === undefined || method === 'GET' ? undefined : Buffer.from(body);
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(issuer);
    const outgoing = request(
      {
        hostname,
        port,
        method,
        path: `/${path}`,
        agent,
        headers: { ...sent, ...(bytes ? { 'content-length': bytes.length } : {}) } as never,
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            location: response.headers.location,
            type: response.headers['content-type'] ?? '',
            text,
          }),
        );
      },
    );
    outgoing.on('error', reject).end(bytes);
  });
}

/** Where a redirect may lead: ourselves, and the addresses that clients have registered. */
function isVerified(location: string): boolean {
  const url = new URL(location, issuer);
  if (url.origin === new URL(issuer).origin) return true;
  const bare = `${url.protocol}//${url.host}${url.pathname}`;
  return [
    callback,
    'https://app.example/',
    'https://app.example/bye',
    'http://127.0.0.1/callback',
    `${callback}2`,
  ].includes(bare);
}

// The statuses of RFC 6749 and 6750, of OpenID and of HTTP itself; 503 is the password pool that sheds load.
const refusals = new Set([400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 429, 431, 503]);

test('thousands of malformed requests at every endpoint: never a 5xx, never an unverified redirect, errors in OAuth’s form', async () => {
  const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
  const runs = Number(process.env.FUZZ_RUNS ?? 400);
  await fc.assert(
    fc.asyncProperty(fc.array(attempt, { minLength: 8, maxLength: 8 }), async (attempts) => {
      const answers = await Promise.all(attempts.map(send));
      for (const [index, { status, location, type, text }] of answers.entries()) {
        const asked = attempts[index]!;
        const problem = (what: string) =>
          new Error(
            `${what}: ${JSON.stringify({ ...asked, body: asked.body?.slice(0, 300), path: asked.path.slice(0, 600) })} → ${status} ${location ?? ''} ${text.slice(0, 200)}`,
          );
        if (status >= 500 && !(status === 503 && text.includes('temporarily_unavailable')))
          throw problem('a server error');
        if (status >= 400 && !refusals.has(status)) throw problem('a strange status');
        if (location !== undefined && !isVerified(location)) throw problem('an unverified redirect');
        if (
          status >= 400 &&
          type.includes('json') &&
          asked.method !== 'HEAD' &&
          !asked.path.startsWith('api/v2') &&
          typeof JSON.parse(text).error !== 'string'
        )
          throw problem('no error code');
        if (/node_modules|\.ts:\d+|PrismaClient|at async /.test(text)) throw problem('the inside shows');
      }
    }),
    { seed, numRuns: runs, endOnFailure: true },
  );
  expect((await managerToken()).status).toBe(200);
  expect((await gate.get('.well-known/openid-configuration')).status).toBe(200);
}, 60_000);
