/** Checks of the suite's plans for the implicit and hybrid flows, `oidcc-implicit-…` and `oidcc-hybrid-certification-test-plan`, by its names. */
import { createHash } from 'node:crypto';
import { Browser } from '@gatepost/testkit/browser';
import { afterAll, expect, test } from '@jest/globals';
import { openParty } from './party.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const party = stack.use(await openParty());
const { ask, signIn, redeem, read, userinfo } = party;

/** The left half of a value's hash (OpenID Connect Core 1.0, section 3.3.2.11). */
const half = (value: string) => createHash('sha256').update(value).digest().subarray(0, 16).toString('base64url');

test.each(['id_token', 'id_token token', 'code id_token', 'code id_token token'])(
  'oidcc-ensure-request-without-nonce-fails: %s needs a nonce',
  async (response_type) => {
    const page = await ask({ response_type, state: 's' });
    expect(Object.fromEntries(new URLSearchParams(page.location!.hash.slice(1)))).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining('nonce'),
      state: 's',
    });
  },
);

test('oidcc-server (id_token): the ID token has the nonce, and no hash of a token that was not issued', async () => {
  const { id_token, code, access_token } = await signIn({ response_type: 'id_token', nonce: 'n' });
  expect([code, access_token]).toEqual([undefined, undefined]);
  const claims = await read(id_token!);
  expect(claims).toMatchObject({ nonce: 'n', sub: 'auth0|alice' });
  expect(claims).not.toHaveProperty('c_hash');
  expect(claims).not.toHaveProperty('at_hash');
});

test('oidcc-server (id_token token): at_hash belongs to the access token, which userinfo accepts', async () => {
  const answer = await signIn({ response_type: 'id_token token', nonce: 'n' });
  expect((await read(answer.id_token!)).at_hash).toBe(half(answer.access_token!));
  expect(answer).toMatchObject({ token_type: expect.stringMatching(/^bearer$/i), expires_in: expect.any(String) });
  expect((await userinfo(answer.access_token!)).json).toMatchObject({ sub: 'auth0|alice' });
});

test('oidcc-server (code id_token): c_hash belongs to the code', async () => {
  const { id_token, code } = await signIn({ response_type: 'code id_token', nonce: 'n' });
  expect((await read(id_token!)).c_hash).toBe(half(code!));
});

test('oidcc-server (code id_token token): the ID token has both hashes', async () => {
  const { id_token, code, access_token } = await signIn({ response_type: 'code id_token token', nonce: 'n' });
  expect(await read(id_token!)).toMatchObject({ c_hash: half(code!), at_hash: half(access_token!) });
});

test('oidcc-server (code token): only the token endpoint returns an ID token', async () => {
  const { id_token, code, access_token } = await signIn({ response_type: 'code token', nonce: 'n' });
  expect([id_token, typeof access_token]).toEqual([undefined, 'string']);
  expect(await read((await redeem(code!)).json.id_token as string)).toMatchObject({ nonce: 'n' });
});

test('the ID tokens of the front channel and the token endpoint have the same person, issuer and nonce', async () => {
  const front = await signIn({ response_type: 'code id_token', nonce: 'n' }, new Browser(party.gate));
  const back = await read((await redeem(front.code!)).json.id_token as string);
  const { iss, sub, nonce } = await read(front.id_token!);
  expect(back).toMatchObject({ iss, sub, nonce });
});
