/** How the pages look and speak, by Auth0's API, and what people then see. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Auth0 writes values so.
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { openManagement } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, ask, tokenOf } = stack.use(await openManagement());
const token = `Bearer ${await tokenOf('manager')}`;
const asManager = (method: string, path: string, body?: unknown) => ask(method, path, body, token);
const request = { client_id: 'web', redirect_uri: 'https://app.example/cb', response_type: 'code', scope: 'openid' };
const signIn = (parameters: Record<string, string> = {}) =>
  new Browser(gate).authorize({ ...request, ...pkce(), ...parameters });

test('branding is written, shown on the pages, and removed by null', async () => {
  expect(await asManager('GET', 'branding')).toEqual({ status: 200, body: {} });
  const branding = {
    logo_url: 'https://cdn.example/logo.svg',
    favicon_url: 'https://cdn.example/favicon.ico',
    colors: { primary: '#FFD400', page_background: '#000000' },
    font: { url: 'https://fonts.example/brand.woff2' },
  };
  expect(await asManager('PATCH', 'branding', branding)).toEqual({ status: 200, body: branding });
  expect((await asManager('GET', 'branding')).body).toEqual(branding);
  const page = await signIn();
  expect(page.html).toContain('<img class="gp-logo" src="https://cdn.example/logo.svg"');
  expect(page.html).toContain('--accent:#FFD400;');
  expect(page.html).toContain('--on-accent:#000000;');
  expect(page.headers.get('content-security-policy')).toContain('font-src https://fonts.example;');

  // One colour at a time, the other stays.
  const gradient = { type: 'linear-gradient', start: '#ffffff', end: '#000000', angle_deg: 35 };
  expect((await asManager('PATCH', 'branding', { colors: { page_background: gradient } })).body).toEqual({
    ...branding,
    colors: { primary: '#FFD400', page_background: gradient },
  });
  const nothing = { logo_url: null, favicon_url: '', colors: null, font: { url: null } };
  expect(await asManager('PATCH', 'branding', nothing)).toEqual({ status: 200, body: {} });
  expect((await signIn()).html).not.toContain('--accent:#FFD400');
});

test('a page can be previewed before it is saved, only in a frame of the caller’s pages, without scripts', async () => {
  const pages = (await asManager('GET', 'branding/previews')).body as { page: string; themed: boolean }[];
  expect(pages).toContainEqual({ page: 'login', themed: true });
  expect(pages).toContainEqual({ page: 'error', themed: false });
  const wanted = { page: 'login', branding: { colors: { primary: '#123456' } }, ui_locales: 'de' };
  expect(await asManager('POST', 'branding/previews', wanted)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('no web origin') },
  });
  const web_origins = ['https://console.example'];
  await asManager('PATCH', 'clients/manager', { web_origins });
  // What is remembered of a caller's client is forgotten with the notification of the change.
  const made = await until('a preview', async () => {
    const answer = await asManager('POST', 'branding/previews', wanted);
    return answer.status === 201 && answer;
  });
  expect(made.body).toMatchObject({ url: expect.stringContaining(`${gate.issuer}branding-preview/`) });
  const at = made.body.url.slice(gate.issuer.length);
  const { text, headers } = await gate.get(at, { 'sec-fetch-dest': 'iframe' });
  expect(text).toContain('--accent:#123456;');
  expect(text).toContain('<html lang="de"');
  const policy = headers.get('content-security-policy');
  expect(policy).toMatch(/frame-ancestors https:\/\/console\.example; sandbox$/);
  expect(headers.get('x-frame-options')).toBeNull();
  expect((await gate.get(at, { 'sec-fetch-dest': 'document' })).status).toBe(404);
  expect((await gate.get(`${at}x`)).status).toBe(404);
  expect((await signIn()).html).not.toContain('#123456'); // nobody else sees it
  const template = '<html><head>{%- auth0:head -%}</head><body>mine {%- auth0:widget -%}</body></html>';
  const own = await asManager('POST', 'branding/previews', { page: 'login', template });
  expect((await gate.get(own.body.url.slice(gate.issuer.length))).text).toContain('mine');
  for (const [body, message] of [
    [{ page: 'login', template: '<html></html>' }, 'auth0:head'],
    [{ page: 'nowhere' }, 'there is none called nowhere'],
    [{ page: 'login', branding: { colors: { primary: 'red' } } }, 'branding.colors.primary'],
  ] as const)
    expect(await asManager('POST', 'branding/previews', body)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(message) },
    });
});

test.each([
  [{ colors: { primary: 'red' } }, 'Not a colour such as #0d5f50 on property colors.primary'],
  [{ colors: { secondary: '#000000' } }, 'Additional properties not allowed: colors.secondary'],
  [{ logo_url: 'javascript:alert(1)' }, 'logo_url'],
  [{ colors: { page_background: { type: 'radial-gradient' } } }, 'colors.page_background'],
  [{ font: { url: 'data:font/woff2,x' } }, 'font.url'],
])('invalid branding is refused with its path: %j', async (body, message) => {
  expect(await asManager('PATCH', 'branding', body)).toMatchObject({
    status: 400,
    body: { errorCode: 'invalid_body', message: expect.stringContaining(message) },
  });
});

test('the pages use the enabled languages, and the first of them by default', async () => {
  const settings = async () => (await asManager('GET', 'tenants/settings')).body.enabled_locales;
  const all = await settings();
  expect(all.slice(0, 2)).toEqual(['en', 'de']);
  const enabled_locales = ['de-AT', 'en'];
  expect((await asManager('PATCH', 'tenants/settings', { enabled_locales })).body).toMatchObject({ enabled_locales });
  const discovery = async () => (await gate.get('.well-known/openid-configuration')).json.ui_locales_supported;
  expect(await discovery()).toEqual(enabled_locales);
  expect((await signIn()).html).toContain('<html lang="de-AT"');
  expect((await signIn({ ui_locales: 'en-GB' })).html).toContain('<html lang="en"');
  for (const none of ['tlh', 'de-12', 'pt-br1'])
    expect(await asManager('PATCH', 'tenants/settings', { enabled_locales: ['de', none] })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('on property enabled_locales.1') },
    });
  await asManager('PATCH', 'tenants/settings', { enabled_locales: null });
  expect(await settings()).toEqual(all);
  expect(await discovery()).toEqual(all);
});

test('identifier_first is a setting of the tenant, and unsupported prompt settings stay as they are', async () => {
  const prompts = { universal_login_experience: 'new', identifier_first: true, webauthn_platform_first_factor: false };
  expect((await asManager('GET', 'prompts')).body).toEqual(prompts);
  const classic = { identifier_first: false };
  expect((await asManager('PATCH', 'prompts', classic)).body).toEqual({ ...prompts, ...classic });
  expect((await asManager('GET', 'tenants/settings')).body.identifier_first).toBe(false);
  expect((await signIn()).html).toContain('name="password"');
  expect((await asManager('PATCH', 'prompts', prompts)).body).toEqual(prompts);
  expect(await asManager('PATCH', 'prompts', { universal_login_experience: 'classic' })).toMatchObject({
    status: 404,
    body: { errorCode: 'feature_not_available' },
  });
});

test('custom texts are written for a prompt and a language, shown there, and replaced as a whole', async () => {
  const texts = { 'login-id': { title: 'Hello <b>you</b>', description: 'On to ${clientName}', buttonText: 'Next' } };
  const path = 'prompts/login-id/custom-text';
  expect(await asManager('PUT', `${path}/en`, texts)).toEqual({ status: 200, body: texts });
  expect((await asManager('GET', `${path}/en`)).body).toEqual(texts);
  const page = await signIn();
  expect(page.html).toContain('<h1>Hello &lt;b&gt;you&lt;/b&gt;</h1>');
  expect(page.html).toContain('>Next</button>');
  expect((await signIn({ ui_locales: 'ja' })).html).toContain('<h1>ログイン</h1>');
  expect((await asManager('PUT', `${path}/ja`, { 'login-id': { title: 'ようこそ' } })).status).toBe(200);
  expect((await signIn({ ui_locales: 'ja' })).html).toContain('<h1>ようこそ</h1>');
  expect((await asManager('PUT', `${path}/en`, { 'login-id': { title: 'Hi' } })).status).toBe(200);
  expect((await signIn()).html).toContain('>Continue</button>');
  for (const language of ['en', 'ja']) await asManager('PUT', `${path}/${language}`, {});
  expect(await asManager('GET', `${path}/en`)).toEqual({ status: 200, body: {} });
  expect((await signIn()).html).toContain('<h1>Sign in</h1>');
});

test.each([
  ['prompts/login/custom-text/en', { login: { tilte: 'x' } }, 'login.login.tilte: the page has no such text'],
  ['prompts/mfa-push/custom-text/en', { 'mfa-push-welcome': { title: 'x' } }, 'mfa-push.mfa-push-welcome'],
  ['prompts/login/custom-text/tlh', { login: { title: 'x' } }, 'tlh: not a language of the pages'],
  ['prompts/login/custom-text/en', { login: { title: 1 } }, 'login.title'],
])('a custom text that no page has is refused with its path: PUT %s %j', async (path, body, message) => {
  expect(await asManager('PUT', path, body)).toMatchObject({
    status: 400,
    body: { errorCode: 'invalid_body', message: expect.stringContaining(message) },
  });
});
