/** Requests that no client would send, as fast-check makes and shrinks them. */
import fc from 'fast-check';
import { callback } from '../target.ts';
import { both, evil, gets, good, managed, names, posts } from './vocabulary.ts';

export type Attempt = {
  method: string;
  /** Below the issuer, with its query. */
  path: string;
  type: string | undefined;
  body: string | undefined;
  headers: Record<string, string | undefined>;
};

const anyText = fc.string({ unit: 'binary', maxLength: 30 }).map((text) => encodeURIComponent(text.toWellFormed()));
const base64url = (text: string) => Buffer.from(text).toString('base64url');
/** A token that nobody signed, plausible enough to be read. */
const token = fc
  .tuple(
    fc.constantFrom(
      '{"alg":"RS256"}',
      '{"alg":"none"}',
      '{"alg":"HS256","typ":"dpop+jwt","jwk":{}}',
      '{"alg":1}',
      '[]',
      '',
    ),
    fc.oneof(
      fc.dictionary(
        fc.constantFrom('iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'jti', ...names),
        fc.oneof(fc.constantFrom(...good), fc.jsonValue({ maxDepth: 2 })),
      ),
      fc.jsonValue({ maxDepth: 3 }),
    ),
  )
  .map(([header, payload]) => `${base64url(header)}.${base64url(JSON.stringify(payload))}.c2ln`);
const escaped = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...good).map(encodeURIComponent) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...evil).map((text) => text.replaceAll(' ', '%20').replaceAll('\u2028', '%E2%80%A8')),
  },
  { weight: 2, arbitrary: anyText },
  { weight: 1, arbitrary: token },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 20 })
      .map((bytes) => [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')),
  },
);
const nameOf = (known: string[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: fc.constantFrom('a[b]', 'client_id[]', '%00', '%ff', '', 'x'.repeat(500)) },
  );
export const pairsOf = (known: string[], maxLength: number) =>
  fc
    .array(fc.tuple(nameOf(known), escaped), { maxLength })
    .map((list) => list.map(([key, value]) => `${key}=${value}`).join('&'));
const pairs = pairsOf(names, 14);
// A request that goes deep now and then: well begun, one thing wrong.
const begun = fc.constantFrom(
  '',
  `client_id=spa&redirect_uri=${encodeURIComponent(callback)}&response_type=code&scope=openid&`,
  'client_id=web&client_secret=web-secret&grant_type=authorization_code&',
  'client_id=web&client_secret=web-secret&',
  'client_id=native&connection=email&send=code&',
  'client_id=spa&connection=Username-Password-Authentication&',
);
const json = fc.oneof(
  fc
    .dictionary(
      fc.constantFrom(
        ...names,
        'user_metadata',
        'app_metadata',
        'authParams',
        'redirect_uris',
        'jwks',
        'name',
        'settings',
      ),
      fc.oneof(fc.constantFrom(...good, ...evil), fc.jsonValue({ maxDepth: 3 })),
    )
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
    '['.repeat(5_000) + ']'.repeat(5_000),
    `${'{"a":'.repeat(8_000)}1${'}'.repeat(8_000)}`,
    '{"client_id":"\\u0000"}',
    '{"client_id":"\\ud800"}',
    '{"client_id":"spa","email":"\\udfff"}',
    'x'.repeat(60_000),
  ),
);

/** Bodies that the management API takes, but for one or two of their fields. */
const nearlyRight = fc
  .tuple(
    fc.constantFrom<object>(
      { name: 'x', app_type: 'spa', callbacks: ['https://x.example/cb'] },
      {
        connection: 'Username-Password-Authentication',
        email: 'x@x.example',
        password: 'correct horse battery staple',
      },
      { identifier: 'urn:x', name: 'x', scopes: [{ value: 'read:x' }] },
      { client_id: 'web', audience: 'https://api.example.com/', scope: ['read:x'] },
      { name: 'x', strategy: 'email' },
      { friendly_name: 'x', default_audience: '' },
      {},
    ),
    fc.dictionary(
      fc.constantFrom(
        ...['name', 'callbacks', 'jwks', 'grant_types', 'client_metadata', 'logo_uri', 'refresh_token', 'web_origins'],
        ...[
          'email',
          'password',
          'username',
          'phone_number',
          'user_metadata',
          'app_metadata',
          'picture',
          'user_id',
          'blocked',
        ],
        ...[
          'identifier',
          'scopes',
          'scope',
          'audience',
          'token_lifetime',
          'signing_alg',
          'options',
          'ttl_sec',
          'picture_url',
        ],
        ...['client_secret', 'token_endpoint_auth_method', 'enabled_clients', 'default_audience', 'backchannel_logout'],
      ),
      fc.oneof(
        fc.constantFrom<unknown>(...good, ...evil, -1, 0, 1e308, 2 ** 53, true, null, [], {}, '\ud800', 'a\u0000b'),
        fc.jsonValue({ maxDepth: 3 }),
        fc.array(fc.constantFrom(...good, ...evil), { maxLength: 3 }),
      ),
      { maxKeys: 3 },
    ),
  )
  .map(([base, more]) => JSON.stringify({ ...base, ...more }));

/** @param bearers tokens that are worth something */
export function makeAttempts(bearers: string[]): {
  protocol: fc.Arbitrary<Attempt>;
  management: fc.Arbitrary<Attempt>;
} {
  const headers = fc.record(
    {
      authorization: fc.oneof(
        fc.constantFrom(
          ...bearers,
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
        token.map((text) => `Bearer ${text}`),
      ),
      cookie: fc.constantFrom(
        '_session=x; _session.sig=y',
        '_interaction=%00',
        '_session=__proto__',
        '=;;;=',
        '_link=%ff',
      ),
      dpop: fc.oneof(fc.constantFrom('x', 'a.b.c', 'eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6Im5vbmUifQ.e30.'), token),
      origin: fc.constantFrom('null', 'https://evil.example', 'https://app.example', 'x'),
      referer: fc.constantFrom('', 'x', '//', 'https://app.example/%ff'),
      accept: fc.constantFrom('text/html', 'application/json', '*/*', 'x/y', ';;,,'),
      'accept-language': fc.constantFrom('de', 'xx', '../..', 'a'.repeat(500), 'de;q=x'),
      'content-encoding': fc.constantFrom('gzip', 'identity', 'x'),
      'auth0-forwarded-for': fc.constantFrom('x', '1.2.3.4', '\u00ff'),
      'x-forwarded-for': fc.constantFrom('x', '1.2.3.4, ::1', ','.repeat(100)),
      'x-forwarded-proto': fc.constantFrom('javascript', 'https'),
      'sec-fetch-site': fc.constantFrom('cross-site', 'x'),
      'sec-fetch-dest': fc.constantFrom('image', 'x'),
      'auth0-client': fc.constantFrom('x', 'e30'),
    },
    { requiredKeys: [] },
  );
  const none = { type: fc.constant(undefined), body: fc.constant(undefined) };
  const protocol: fc.Arbitrary<Attempt> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        method: fc.constantFrom('GET', 'HEAD'),
        path: fc
          .tuple(fc.constantFrom(...both, ...gets), begun, pairs)
          .map(([path, start, rest]) => `${path}?${start}${rest}`),
        ...none,
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
          'authorize/x',
          'activate/x',
        ),
        ...none,
        headers,
      }),
    },
  );
  const management: fc.Arbitrary<Attempt> = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PATCH', 'PUT', 'DELETE'),
    path: fc
      .tuple(fc.constantFrom(...managed), fc.constantFrom('', '', '/x%00', '/%ff', '/x', '/web', '/auth0%7Cbob'), pairs)
      .map(([path, id, rest]) => `${path}${id}?${rest}`),
    type: fc.constantFrom('application/json', 'application/json', 'text/html', 'application/x-www-form-urlencoded'),
    body: fc.oneof(json, { weight: 3, arbitrary: nearlyRight }),
    headers: headers.map((given) => ({ ...given, authorization: bearers[0]! })),
  });
  return { protocol, management };
}
