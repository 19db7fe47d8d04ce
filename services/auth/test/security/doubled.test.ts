/** A field given twice where one text is expected: refused with 400 at every door, by form, by query and in a JSON list. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { afterAll, expect, test } from '@jest/globals';
import { callback, openTarget, password } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget());
const { gate, issuer } = target;
type Form = Record<string, string>;

const passwordless = { client_id: 'native', connection: 'email', email: 'alice@example.com' };
const signup = { client_id: 'spa', connection: 'Username-Password-Authentication', email: 'new@example.com', password };
const grant = {
  client_id: 'trusted',
  client_secret: 'trusted-secret',
  grant_type: 'password',
  username: 'alice@example.com',
  password,
  realm: 'Username-Password-Authentication',
  scope: 'openid',
};
const apis: [string, Form][] = [
  ['passwordless/start', { ...passwordless, send: 'code' }],
  ['passwordless/start', { client_id: 'native', connection: 'sms', phone_number: '+15555550100', send: 'code' }],
  ['passwordless/verify', { ...passwordless, verification_code: '123456' }],
  ['passwordless/verify', { ...passwordless, otp: '123456' }],
  [
    'dbconnections/signup',
    { ...signup, username: 'new', name: 'New', nickname: 'new', picture: 'https://a.example/b' },
  ],
  ['dbconnections/change_password', { client_id: 'spa', email: 'alice@example.com', connection: signup.connection }],
  ['oauth/token', grant],
  [
    'oauth/token',
    {
      client_id: 'native',
      grant_type: 'http://auth0.com/oauth/grant-type/passwordless/otp',
      username: 'alice@example.com',
      otp: '123456',
      realm: 'email',
    },
  ],
  ['oauth/device/code', { client_id: 'native', scope: 'openid' }],
  ['oauth/revoke', { client_id: 'native', token: 'x', token_type_hint: 'refresh_token' }],
];
const queries: [string, Form][] = [
  ['passwordless/verify_redirect', { ...passwordless, verification_code: '123456' }],
  ['passwordless/verify_redirect', { client_id: 'native', connection: 'sms', phone_number: '+15555550100' }],
  ['v2/logout', { client_id: 'spa', returnTo: 'https://app.example/bye' }],
  ['change-password', { ticket: 'x' }],
  ['passwordless/link', { ticket: 'x' }],
  ['activate', { user_code: 'BBBB-BBBB' }],
];
const doubled = (form: Form, name: string) =>
  `${new URLSearchParams(form)}&${new URLSearchParams({ [name]: form[name]! })}`;
const fieldsOf = (list: [string, Form][]) =>
  list.flatMap(([path, form]) => Object.keys(form).map((name) => [path, name, form] as const));

test.each(fieldsOf(apis))('POST %s refuses %s given twice', async (path, name, form) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const twice = await fetch(issuer + path, { method: 'POST', headers, body: doubled(form, name) });
  expect([twice.status, ((await twice.json()) as Form).error]).toEqual([400, expect.any(String)]);
  const body = JSON.stringify({ ...form, [name]: [form[name], form[name]] });
  const list = await fetch(issuer + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  expect([list.status, ((await list.json()) as Form).error]).toEqual([400, expect.any(String)]);
});

test.each(fieldsOf(queries))('GET %s refuses %s given twice', async (path, name, form) => {
  for (const accept of ['text/html', 'application/json']) {
    const response = await fetch(`${issuer}${path}?${doubled(form, name)}`, {
      headers: { accept },
      redirect: 'manual',
    });
    expect(response.status).toBe(400);
  }
});

/** Posts the page's form with one of its fields twice. */
const postTwice = async (browser: Browser, page: Page, name: string, more: Form = {}) => {
  const { action, fields } = page.forms[0]!;
  const url = new URL(action, page.url);
  const headers = { cookie: browser.cookieHeader(url), 'content-type': 'application/x-www-form-urlencoded' };
  const body = doubled({ ...fields, ...more }, name);
  return (await fetch(url, { method: 'POST', headers: { ...headers, accept: 'text/html' }, body, redirect: 'manual' }))
    .status;
};

test('the login pages refuse a field given twice', async () => {
  const asked = { client_id: 'spa', redirect_uri: callback, response_type: 'id_token', scope: 'openid', nonce: 'n' };
  const browser = new Browser(gate);
  const first = await browser.authorize(asked);
  for (const name of ['identifier', 'csrf'])
    expect(await postTwice(browser, first, name, { identifier: 'alice@example.com' })).toBe(400);
  const second = await browser.submit(first, { identifier: 'alice@example.com' });
  for (const name of ['identifier', 'password', 'action'])
    expect(await postTwice(browser, second, name, { identifier: 'alice@example.com', password, action: 'x' })).toBe(
      400,
    );
  const code = await browser.submit(second, { action: 'code' });
  for (const name of ['identifier', 'code']) expect(await postTwice(browser, code, name, { code: '123456' })).toBe(400);
  const signupPage = await browser.get(`${new URL(first.url).pathname}/signup`);
  for (const name of ['email', 'password'])
    expect(await postTwice(browser, signupPage, name, { email: 'x@example.com', password })).toBe(400);
  const forgot = await browser.get(`${new URL(first.url).pathname}/forgot-password`);
  expect(await postTwice(browser, forgot, 'email', { email: 'alice@example.com' })).toBe(400);
  const device = await browser.get('activate');
  for (const name of ['user_code', 'xsrf'])
    expect(await postTwice(browser, device, name, { user_code: 'BBBB-BBBB' })).toBe(400);
});
