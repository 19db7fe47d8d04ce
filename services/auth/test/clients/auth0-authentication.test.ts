/** `auth0`'s AuthenticationClient, unmodified, by its domain alone. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { AuthenticationClient } from 'auth0/legacy';
import { decodeJwt } from 'jose';
import { api, fullSeed, native } from '../seeds.ts';
import { openTlsGate } from '../tls-gate.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const otp = {
  ...native,
  client_id: 'otp',
  client_secret: 'otp-secret',
  token_endpoint_auth_method: 'client_secret_post',
};
const seed = { ...fullSeed, clients: [...fullSeed.clients, otp] };
const gate = stack.use(await openTlsGate(seed));
const { domain } = gate;
const clientOf = (clientId: string, clientSecret?: string) =>
  new AuthenticationClient({ domain, clientId, ...(clientSecret ? { clientSecret } : {}) });
const redirect_uri = 'https://app.example/cb';

async function codeOf(client_id: string, params: Record<string, string>): Promise<string> {
  const browser = new Browser({ issuer: gate.tlsIssuer });
  const page = await browser.logIn(
    await browser.authorize({ client_id, redirect_uri, response_type: 'code', ...params }),
  );
  return page.location!.searchParams.get('code')!;
}

test('authorization code: tokens with a verified ID token, a refresh and a revocation', async () => {
  const auth0 = clientOf('web', 'web-secret');
  const code = await codeOf('web', { scope: 'openid email offline_access', nonce: 'n', audience: api });
  const { data } = await auth0.oauth.authorizationCodeGrant(
    { code, redirect_uri },
    { idTokenValidateOptions: { nonce: 'n' } },
  );
  expect(decodeJwt(data.id_token!)).toMatchObject({ sub: 'auth0|alice', email: 'alice@example.com' });
  const fresh = await auth0.oauth.refreshTokenGrant({ refresh_token: data.refresh_token! });
  expect(decodeJwt(fresh.data.access_token).aud).toContain(api);
  await auth0.oauth.revokeRefreshToken({ token: data.refresh_token! });
  await expect(auth0.oauth.refreshTokenGrant({ refresh_token: data.refresh_token! })).rejects.toMatchObject({
    statusCode: 400,
    error: 'invalid_grant',
    error_description: expect.stringContaining('invalid refresh token'),
  });
});

test('authorization code with PKCE', async () => {
  const { code_verifier, ...challenge } = pkce();
  const code = await codeOf('web', { scope: 'openid', ...challenge });
  const { data } = await clientOf('web', 'web-secret').oauth.authorizationCodeGrantWithPKCE({
    code,
    redirect_uri,
    code_verifier,
  });
  expect(decodeJwt(data.id_token!).sub).toBe('auth0|alice');
});

test('client credentials and the password grant, with a refusal', async () => {
  const machine = await clientOf('machine', 'machine-secret').oauth.clientCredentialsGrant({ audience: api });
  expect(decodeJwt(machine.data.access_token)).toMatchObject({ sub: 'machine', aud: api });
  const trusted = clientOf('trusted', 'trusted-secret');
  const person = { username: 'alice@example.com', password: 'correct horse battery staple', audience: api };
  const { data } = await trusted.oauth.passwordGrant({ ...person, scope: 'openid read:x' });
  expect(decodeJwt(data.id_token!).sub).toBe('auth0|alice');
  await trusted.oauth.passwordGrant({ ...person, realm: 'Username-Password-Authentication' });
  await expect(trusted.oauth.passwordGrant({ ...person, password: 'wrong' })).rejects.toMatchObject({
    statusCode: 400,
    error: 'invalid_grant',
    error_description: 'Wrong email or password.',
  });
});

test('a pushed authorization request', async () => {
  const auth0 = clientOf('web', 'web-secret');
  const parameters = { client_id: 'web', response_type: 'code', redirect_uri, scope: 'openid' };
  const { data } = await auth0.oauth.pushedAuthorization(parameters);
  expect(data).toEqual({ request_uri: expect.stringMatching(/^urn:/), expires_in: 60 });
});

test('sign-up and the mail for a forgotten password', async () => {
  const auth0 = clientOf('web', 'web-secret');
  const connection = 'Username-Password-Authentication';
  const signUp = () =>
    auth0.database.signUp({ email: 'new@example.com', password: 'four unrelated words', connection });
  expect((await signUp()).data).toMatchObject({ email: 'new@example.com', email_verified: false });
  await expect(signUp()).rejects.toMatchObject({ statusCode: 400 });
  const { data } = await auth0.database.changePassword({ email: 'new@example.com', connection });
  expect(data).toContain('email');
});

test('passwordless login by mail and by text message', async () => {
  const auth0 = clientOf('otp', 'otp-secret');
  const codeTo = async (to: string) => {
    const message = await until(`a message to ${to}`, async () =>
      (await gate.outbox()).find((text) => text.includes(to)),
    );
    return /code is (\d{6})/.exec(message)![1]!;
  };
  await auth0.passwordless.sendEmail({ email: 'alice@example.com', send: 'code' });
  const mail = await auth0.passwordless.loginWithEmail({
    email: 'alice@example.com',
    code: await codeTo('alice@example.com'),
  });
  expect(decodeJwt(mail.data.id_token!).sub).toBe('auth0|alice');
  await auth0.passwordless.sendSMS({ phone_number: '+15555550100' });
  const text = await auth0.passwordless.loginWithSMS({
    phone_number: '+15555550100',
    code: await codeTo('+15555550100'),
  });
  expect(decodeJwt(text.data.id_token!).sub).toBe('auth0|alice');
});
