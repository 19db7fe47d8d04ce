/** A redirect of an action in Chromium: its pages let the browser leave after a form, and cookies come along on the way back. */
import { patienceMs } from '@gatepost/testkit/chromium';
import { pkce } from '@gatepost/testkit/pkce';
import { afterAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { openActionsGate } from './actions.ts';
import { logIn, openBrowserOfApplication } from './chromium.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
// A machine with much to do starts processes slowly.
const gate = stack.use(await openActionsGate({ ACTIONS_TIMEOUT_MS: '20000' }));
const { browser } = stack.use(await openBrowserOfApplication('terms.example'));
const redirect_uri = 'https://app.example/cb';

await gate.set('post-login', {
  body: `api.redirect.sendUserTo('https://terms.example/accept');`,
  before: `exports.onContinuePostLogin = async (event, api) => {
    const { accepted } = { ...event.request.query, ...event.request.body };
    if (!accepted) return api.access.deny('The terms were not accepted.');
    api.idToken.setCustomClaim('https://mine.example/by', event.request.method);
  };`,
});

/** As another site does, by a link or by a form. */
const ways: Record<string, (page: Page, address: string, state: string) => Promise<unknown>> = {
  GET: (page, address, state) => page.goto(`${address}?${new URLSearchParams({ state, accepted: 'yes' })}`),
  POST: (page, address, state) =>
    page.evaluate(
      ([action, value]) => {
        const form = document.createElement('form');
        form.method = 'post';
        form.action = action!;
        for (const [name, text] of Object.entries({ state: value!, accepted: 'yes' })) {
          const field = document.createElement('input');
          field.name = name;
          field.value = text;
          form.append(field);
        }
        document.body.append(form);
        form.submit();
      },
      [address, state],
    ),
};

test.each(Object.keys(ways))(
  'somebody redirected by an action after the password page comes back by %s',
  async (method) => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    context.setDefaultTimeout(patienceMs);
    try {
      const page = await context.newPage();
      const { code_verifier, ...challenge } = pkce();
      const request = { client_id: 'web', redirect_uri, response_type: 'code', scope: 'openid', ...challenge };
      await page.goto(`${gate.issuer}authorize?${new URLSearchParams(request)}`);
      await logIn(page);
      await page.waitForURL('https://terms.example/accept?**');
      const state = new URL(page.url()).searchParams.get('state')!;
      await ways[method]!(page, `${gate.issuer}continue`, state);
      await page.waitForURL('https://app.example/cb?**');
      const code = new URL(page.url()).searchParams.get('code')!;
      const client = { client_id: 'web', client_secret: 'web-secret', redirect_uri, code_verifier };
      const { id } = await gate.ask({ grant_type: 'authorization_code', ...client, code });
      expect(id).toMatchObject({ sub: 'auth0|alice', 'https://mine.example/by': method });
    } finally {
      await context.close();
    }
  },
);
