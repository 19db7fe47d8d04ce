/** openid-client and oauth4webapi, unmodified and strict, through every flow they know of ours. */

import { Browser } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { openGate } from '../gate.ts';
import { api, fullSeed } from '../seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
// oauth4webapi's check of access tokens wants RFC 9068 to the letter.
const apis = fullSeed.apis.map((each) => ({ ...each, token_dialect: 'rfc9068_profile' }));
const gate = stack.use(await openGate({ ...fullSeed, apis }));
const { issuer } = gate;
const redirect_uri = 'https://app.example/cb';

describe('openid-client', () => {
  const discover = (id: string, auth: client.ClientAuth | string) =>
    client.discovery(
      new URL(issuer),
      id,
      typeof auth === 'string' ? auth : undefined,
      typeof auth === 'string' ? undefined : auth,
      { execute: [client.allowInsecureRequests] },
    );

  async function signIn(config: client.Configuration, params: Record<string, string>) {
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier);
    const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()];
    const parameters = {
      redirect_uri,
      scope: 'openid profile email offline_access',
      code_challenge,
      code_challenge_method: 'S256',
      state: expectedState,
      nonce: expectedNonce,
      ...params,
    };
    const url = params.par
      ? await client.buildAuthorizationUrlWithPAR(config, { ...parameters, par: '' })
      : client.buildAuthorizationUrl(config, parameters);
    const browser = new Browser(gate);
    const { location } = await browser.logIn(await browser.get(url.href));
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
    return client.authorizationCodeGrant(config, location!, checks);
  }

  test.each([
    ['a secret in the body', client.ClientSecretPost('web-secret')],
    ['a secret by Basic', client.ClientSecretBasic('web-secret')],
  ])('a web application with %s uses code, userinfo, refresh, introspection and revocation', async (_what, auth) => {
    const config = await discover('web', auth);
    const tokens = await signIn(config, { audience: api });
    expect(tokens.claims()).toMatchObject({ sub: 'auth0|alice', email: 'alice@example.com', aud: 'web' });
    expect(await client.fetchUserInfo(config, tokens.access_token, 'auth0|alice')).toMatchObject({
      name: 'Alice Example',
    });
    const fresh = await client.refreshTokenGrant(config, tokens.refresh_token!);
    expect(await client.tokenIntrospection(config, fresh.access_token)).toMatchObject({
      active: true,
      client_id: 'web',
    });
    await client.tokenRevocation(config, tokens.refresh_token!);
    expect(await client.tokenIntrospection(config, fresh.access_token)).toEqual({ active: false });
    await expect(client.refreshTokenGrant(config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  test('a public single-page application uses a pushed request and rotating refresh tokens', async () => {
    const config = await discover('spa', client.None());
    const tokens = await signIn(config, { par: 'yes' });
    const second = await client.refreshTokenGrant(config, tokens.refresh_token!);
    expect(second.refresh_token).not.toBe(tokens.refresh_token);
    await expect(client.refreshTokenGrant(config, tokens.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  test('the implicit flow gives an ID token in the fragment', async () => {
    const config = await discover('spa', client.None());
    client.useIdTokenResponseType(config);
    const nonce = client.randomNonce();
    const url = client.buildAuthorizationUrl(config, { redirect_uri, scope: 'openid email', nonce, state: 's' });
    const browser = new Browser(gate);
    const { location } = await browser.logIn(await browser.get(url.href));
    const claims = await client.implicitAuthentication(config, location!, nonce, { expectedState: 's' });
    expect(claims).toMatchObject({ sub: 'auth0|alice', email: 'alice@example.com' });
  });

  test('the hybrid flow gives code and id_token', async () => {
    const config = await discover('spa', client.None());
    client.useCodeIdTokenResponseType(config);
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier);
    const expectedNonce = client.randomNonce();
    const pkce = { code_challenge, code_challenge_method: 'S256' };
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri,
      scope: 'openid',
      nonce: expectedNonce,
      state: 's',
      ...pkce,
    });
    const browser = new Browser(gate);
    const { location } = await browser.logIn(await browser.get(url.href));
    const checks = { pkceCodeVerifier, expectedNonce, expectedState: 's' };
    expect((await client.authorizationCodeGrant(config, location!, checks)).claims()?.sub).toBe('auth0|alice');
  });

  test('a device polls at the given interval and gets its tokens', async () => {
    const config = await discover('native', client.None());
    const device = await client.initiateDeviceAuthorization(config, { scope: 'openid', audience: api });
    const polling = client.pollDeviceAuthorizationGrant(config, device);
    const browser = new Browser(gate);
    const confirm = await browser.get(device.verification_uri_complete!);
    const asked = confirm.html.includes('name="confirm"') ? confirm : await browser.submit(confirm);
    await browser.logIn(await browser.submit(asked, { confirm: 'yes' }));
    expect((await polling).claims()?.sub).toBe('auth0|alice');
  });

  test('a machine gets a token by client_credentials, or a refusal as an OAuth error', async () => {
    const config = await discover('machine', 'machine-secret');
    expect(await client.clientCredentialsGrant(config, { audience: api })).toMatchObject({ scope: 'read:x write:x' });
    const refusal = { error: 'invalid_scope', status: 400 };
    await expect(client.clientCredentialsGrant(config, { audience: api, scope: 'admin:x' })).rejects.toMatchObject(
      refusal,
    );
  });

  test('an API exchanges the token that it was shown for one of the next API, and a logout leads back to the application', async () => {
    const config = await discover('web', 'web-secret');
    const { access_token, id_token } = await signIn(config, { audience: api, scope: 'openid read:x' });
    const exchanged = await client.genericGrantRequest(
      await discover('api', 'api-secret'),
      'urn:ietf:params:oauth:grant-type:token-exchange',
      {
        subject_token: access_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        audience: 'urn:es',
      },
    );
    expect(exchanged.issued_token_type).toBe('urn:ietf:params:oauth:token-type:access_token');
    const url = client.buildEndSessionUrl(config, {
      id_token_hint: id_token!,
      post_logout_redirect_uri: 'https://app.example/bye',
      state: 'x',
    });
    const browser = new Browser(gate);
    const page = await browser.get(url.href);
    const done = page.location ? page : await browser.submit(page);
    expect(done.location?.href).toBe('https://app.example/bye?state=x');
  });
});

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true };

  test('code flow with DPoP and its nonces, every answer checked', async () => {
    const found = await oauth.discoveryRequest(new URL(issuer), insecure);
    const as = await oauth.processDiscoveryResponse(new URL(issuer), found);
    const spa: oauth.Client = { client_id: 'spa' };
    const code_verifier = oauth.generateRandomCodeVerifier();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const url = new URL(as.authorization_endpoint!);
    url.search = String(
      new URLSearchParams({
        client_id: 'spa',
        redirect_uri,
        response_type: 'code',
        scope: 'openid email offline_access',
        audience: api,
        state,
        nonce,
        code_challenge: await oauth.calculatePKCECodeChallenge(code_verifier),
        code_challenge_method: 'S256',
      }),
    );
    const browser = new Browser(gate);
    const { location } = await browser.logIn(await browser.get(url.href));
    const params = oauth.validateAuthResponse(as, spa, location!, state);
    const DPoP = oauth.DPoP(spa, await oauth.generateKeyPair('ES256'));
    const options = { DPoP, ...insecure };
    const redeem = () =>
      oauth.authorizationCodeGrantRequest(as, spa, oauth.None(), params, redirect_uri, code_verifier, options);
    const processed = async (response: Response) =>
      oauth.processAuthorizationCodeResponse(as, spa, response, { expectedNonce: nonce, requireIdToken: true });
    const tokens = await processed(await redeem()).catch(async (error) => {
      if (!oauth.isDPoPNonceError(error)) throw error;
      return processed(await redeem());
    });
    expect(tokens.token_type).toBe('dpop');
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: 'auth0|alice', email_verified: true });

    const info = await until('userinfo', async () => {
      const response = await oauth.userInfoRequest(as, spa, tokens.access_token, options);
      return oauth.processUserInfoResponse(as, spa, 'auth0|alice', response).catch((error) => {
        if (!oauth.isDPoPNonceError(error)) throw error;
        return undefined;
      });
    });
    expect(info.email).toBe('alice@example.com');
    const answer = await oauth.refreshTokenGrantRequest(as, spa, oauth.None(), tokens.refresh_token!, options);
    const fresh = await oauth.processRefreshTokenResponse(as, spa, answer);
    const request = new Request('http://resource.example/', {
      headers: { authorization: `Bearer ${(await bearer()).access_token}` },
    });
    expect(await oauth.validateJwtAccessToken(as, request, api, insecure)).toMatchObject({
      sub: 'machine',
      client_id: 'machine',
    });
    expect(fresh.refresh_token).not.toBe(tokens.refresh_token);

    async function bearer() {
      const machine: oauth.Client = { client_id: 'machine' };
      const auth = oauth.ClientSecretBasic('machine-secret');
      const response = await oauth.clientCredentialsGrantRequest(as, machine, auth, { audience: api }, insecure);
      return oauth.processClientCredentialsResponse(as, machine, response);
    }
  });
});
