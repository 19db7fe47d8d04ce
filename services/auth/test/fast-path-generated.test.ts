/**
 * Whatever a machine posts to the token endpoint is answered alike on the fast path and on the common path: generated requests, some of them
 * nearly right. FUZZ_RUNS=20 sends 10,000 (@gatepost/testkit/fuzz).
 */
import { fuzz, oddText, oddValue } from '@gatepost/testkit/fuzz';
import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openGate } from './gate.ts';
import { api } from './seeds.ts';
import { askGate, comparable, machines, secret } from './two-ways.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
// Each request comes from an address of its own, on both ways, so that guesses at a secret do not count against the next.
const gate = stack.use(await openGate(machines, { TRUSTED_PROXIES: '127.0.0.1/32' }));

type Generated = { body: string; headers: Record<string, string> };
const text = (...usual: string[]) =>
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: oddText });
const secrets = ['machine-secret', 'machine-secret', secret, 'wrong'];
const ids = ['machine', 'machine', 'signs', 'basic', 'foreign', 'scopeless', 'grantless', 'web', 'public', 'nobody'];
const parameter = fc.oneof(
  fc.tuple(fc.constant('grant_type'), text('client_credentials', 'client_credentials', 'password', 'refresh_token')),
  fc.tuple(fc.constant('client_id'), text(...ids)),
  fc.tuple(fc.constant('client_secret'), text(...secrets)),
  fc.tuple(
    fc.constantFrom('audience', 'resource'),
    text(api, 'urn:es', 'plain name', 'urn:ps', 'urn:es#x', `${gate.issuer}userinfo`),
  ),
  fc.tuple(fc.constant('scope'), text('read:x', 'write:x read:x', 'read:x read:x', 'admin:x', ' read:x', 'a"b')),
  fc.tuple(text('colour', 'client_assertion', 'client_assertion_type', 'toString', '__proto__'), oddText),
);
/** A right request, and what is changed about it: added (often a second time), taken away. */
const fields = fc
  .tuple(
    fc.constantFrom('machine', 'basic', 'foreign', 'scopeless'),
    fc.constantFrom(['audience', 'urn:es'], ['audience', api], ['resource', 'urn:es'], ['audience', 'plain name']),
    fc.array(parameter, { maxLength: 2 }),
    fc.subarray(['grant_type', 'client_id', 'client_secret', 'audience', 'resource'], { maxLength: 1 }),
    fc.boolean(),
  )
  .map(([id, target, added, removed, replaces]) => {
    const right = [
      ['grant_type', 'client_credentials'],
      ['client_id', id],
      ['client_secret', 'machine-secret'],
      target,
    ];
    const names = [...removed, ...(replaces ? added.map(([name]) => name) : [])];
    return [...right.filter(([name]) => !names.includes(name!)), ...added] as [string, string][];
  });
const formOf = (all: [string, string][]) =>
  all
    .map(([name, value]) => `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`)
    .join('&');
const jsonOf = (all: [string, unknown][]) =>
  `{${all.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value) ?? 'null'}`).join(',')}}`;

const formType = text(
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded;charset=UTF-8',
  'text/plain',
);
const jsonType = text('application/json', 'application/json; charset=utf-8', 'application/json;charset=latin1');
const isHeader = (value: string) => /^[\t\x20-\x7e]*$/.test(value);
const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;
const headers = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        authorization: text(
          basic('machine:machine-secret'),
          basic('basic:machine-secret'),
          basic('machine:wrong'),
          'Bearer x',
        ).filter(isHeader),
        origin: fc.constantFrom('https://app.example', 'null'),
        dpop: fc.constantFrom('proof', 'a.b.c'),
        accept: fc.constantFrom('text/html', 'application/json', '*/*'),
      },
      { requiredKeys: [] },
    ),
  },
);
const asForm = fc
  .tuple(fields, formType, headers)
  .map(([all, type, more]): Generated => ({ body: formOf(all), headers: { 'content-type': type, ...more } }));
const asJson = fc.tuple(fields, fc.array(fc.tuple(oddText, oddValue), { maxLength: 1 }), jsonType, headers).map(
  ([all, odd, type, more]): Generated => ({
    body: jsonOf([...all, ...odd]),
    headers: { 'content-type': type, ...more },
  }),
);
/** A right body with a character that is another, or is missing. */
const damaged = fc
  .tuple(fc.oneof(asForm, asJson), fc.nat(), text('&', '=', '%', '+', '"', '{', '\\', ''))
  .map(([{ body, headers: given }, at, instead]): Generated => {
    const place = at % (body.length + 1);
    return { body: body.slice(0, place) + instead.toWellFormed() + body.slice(place + 1), headers: given };
  });

let asked = 0;
const answered = { short: 0, common: 0 };

async function expectAlike({ body, headers: given }: Generated): Promise<void> {
  asked += 1;
  const from = { 'x-forwarded-for': `10.${(asked >> 16) & 255}.${(asked >> 8) & 255}.${asked & 255}` };
  const sent = Object.fromEntries(Object.entries({ ...given, ...from }).filter(([, value]) => isHeader(value)));
  const direct = await askGate(gate, body, sent);
  const common = await askGate(gate, body, sent, '?x');
  answered[direct.way] += 1;
  expect(common.way).toBe('common');
  if (direct.way === 'short') expect(direct.status).toBe(200);
  expect({ body, sent, answer: comparable(direct) }).toEqual({ body, sent, answer: comparable(common) });
}

test('generated token requests are answered alike on the fast path and the common path', async () => {
  const ten = fc.array(fc.oneof(asForm, asJson, damaged), { minLength: 10, maxLength: 10 });
  await fuzz(ten, async (all) => void (await Promise.all(all.map(expectAlike))), { numRuns: 50, timeLimitMs: 15_000 });
  expect(answered.short).toBeGreaterThan(0);
  expect(answered.common).toBeGreaterThan(0);
}, 3_600_000);
