/** Checks of the suite's plan `oidcc-rp-initiated-logout-certification-test-plan`, by its names. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { afterAll, describe, expect, test } from '@jest/globals';
import { answerOf, openParty } from './party.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const party = stack.use(await openParty());
const { gate, ask, tokens } = party;
const bye = 'https://app.example/bye';

/** A browser in which alice is signed in, with her ID token. */
async function signedIn() {
  const browser = new Browser(gate);
  return { browser, hint: (await tokens({}, browser)).id_token };
}
const logOut = (browser: Browser, params: Record<string, string>) =>
  browser.get(`oidc/logout?${new URLSearchParams(params)}`);
/** Whoever is here says that he means it. */
const confirmed = (browser: Browser, page: Page) =>
  page.forms.length > 0 ? browser.submit(page, { logout: 'yes' }) : page;
const isSignedIn = async (browser: Browser) =>
  answerOf(await ask({ prompt: 'none' }, browser)).error !== 'login_required';

test('oidcc-rp-initiated-logout: signs out and returns to the application with its state', async () => {
  const { browser, hint } = await signedIn();
  const asked = await logOut(browser, { id_token_hint: hint, post_logout_redirect_uri: bye, state: 'a b&c' });
  const page = await confirmed(browser, asked);
  expect(page.location!.href.split('?')[0]).toBe(bye);
  expect(page.location!.searchParams.get('state')).toBe('a b&c');
  expect(await isSignedIn(browser)).toBe(false);
});

test('oidcc-rp-initiated-logout-no-state: returns without a state', async () => {
  const { browser, hint } = await signedIn();
  const page = await confirmed(browser, await logOut(browser, { id_token_hint: hint, post_logout_redirect_uri: bye }));
  expect(page.location!.href).toBe(bye);
});

test.each([
  ['no-post-logout-redirect-uri', (hint: string): Record<string, string> => ({ id_token_hint: hint })],
  ['no-params', () => ({})],
  ['only-state', () => ({ state: 's' })],
])('oidcc-rp-initiated-logout-%s: signs out and shows a page of ours', async (_name, params) => {
  const { browser, hint } = await signedIn();
  const page = await confirmed(browser, await logOut(browser, params(hint)));
  expect([page.status, page.location]).toEqual([200, undefined]);
  expect(await isSignedIn(browser)).toBe(false);
});

describe('a logout with an invalid parameter does not redirect', () => {
  test.each([
    [
      'bad-post-logout-redirect-uri',
      (hint: string) => ({ id_token_hint: hint, post_logout_redirect_uri: `${bye}/evil` }),
    ],
    [
      'query-added-to-post-logout-redirect-uri',
      (hint: string) => ({ id_token_hint: hint, post_logout_redirect_uri: `${bye}?x=y` }),
    ],
    ['bad-id-token-hint', () => ({ id_token_hint: 'made-up', post_logout_redirect_uri: bye })],
    [
      'modified-id-token-hint',
      (hint: string) => ({ id_token_hint: `${hint.slice(0, -6)}AAAAAA`, post_logout_redirect_uri: bye }),
    ],
    ['no-id-token-hint', () => ({ post_logout_redirect_uri: bye })],
  ] as [string, (hint: string) => Record<string, string>][])('oidcc-rp-initiated-logout-%s', async (_name, params) => {
    const { browser, hint } = await signedIn();
    const page = await logOut(browser, params(hint));
    expect(page.location).toBeUndefined();
    expect(await isSignedIn(browser)).toBe(true); // nothing was confirmed
  });
});
