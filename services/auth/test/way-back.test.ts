/** Where a page leads whose login is over: back to the application, if that can be reached. */
import { Browser } from '@gatepost/testkit/browser';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, expect, test } from '@jest/globals';
import { openManagement } from './management/target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, ask } = stack.use(await openManagement());

/** The address behind "Start again", in a browser that has begun a login of the application. */
async function wayBack(client_id: string, redirect_uri: string): Promise<string | undefined> {
  const browser = new Browser(gate);
  const begun = await browser.authorize({ client_id, redirect_uri, response_type: 'code', scope: 'openid', ...pkce() });
  expect(begun.html).toContain('name="identifier"');
  const { status, html } = await browser.get('interaction/none');
  expect([status, html.includes('This page has expired')]).toEqual([400, true]);
  return /class="gp-button" href="([^"]*)">Start again/.exec(html)?.[1];
}

test('"Start again" leads to where the application begins a login, or else to its origin', async () => {
  const spa = () => wayBack('spa', 'https://app.example/cb');
  expect(await spa()).toBe('https://app.example/');
  for (const initiate_login_uri of ['https://app.example/login?from=gate', 'http://localhost:3000/login']) {
    expect((await ask('PATCH', 'clients/spa', { initiate_login_uri })).status).toBe(200);
    expect(await spa()).toBe(initiate_login_uri);
  }
  await ask('PATCH', 'clients/spa', { initiate_login_uri: 'javascript:alert(1)' });
  expect(await spa()).toBe('https://app.example/');
});

test.each([
  [['http://127.0.0.1/callback', 'com.example.app:/cb'], 'http://127.0.0.1:51234/callback', undefined],
  [['http://[::1]/callback'], 'http://[::1]:51234/callback', undefined],
  [
    ['http://localhost/callback', 'https://native.example/cb'],
    'http://localhost:51234/callback',
    'https://native.example/',
  ],
])(
  'nothing leads back to a native application with %j but to its web address',
  async (callbacks, redirect_uri, back) => {
    const client = { name: 'Native', app_type: 'native', callbacks, grant_types: ['authorization_code'] };
    const { body } = await ask('POST', 'clients', client);
    expect(await wayBack(body.client_id, redirect_uri)).toBe(back);
  },
);
