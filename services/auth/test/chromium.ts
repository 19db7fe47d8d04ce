/** A real browser that finds the application which the tests' clients name, and how alice signs in there. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificates } from '@gatepost/testkit/certificates';
import { launchOptions } from '@gatepost/testkit/chromium';
import { type Browser, chromium, type Page } from 'playwright-core';
import { alice } from './seeds.ts';

/**
 * Starts Chromium, for which `https://app.example`, and further hosts of that kind, are a server of this test. A route of Playwright's would not do: it is not asked
 * for what another page redirects to. Contexts need `ignoreHTTPSErrors`, since nobody has signed the server's certificate.
 */
export async function openBrowserOfApplication(...others: string[]): Promise<AsyncDisposable & { browser: Browser }> {
  await using stack = new AsyncDisposableStack();
  const certificates = stack.use(makeCertificates());
  const application = createServer(certificates.selfSigned('app.example'), (_request, response) => {
    response.setHeader('Content-Type', 'text/html').end('arrived');
  });
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
  stack.defer(() => {
    application.closeAllConnections();
    application.close();
  });
  const { port } = application.address() as AddressInfo;
  const rules = ['app.example', ...others].map((host) => `MAP ${host}:443 127.0.0.1:${port}`);
  const rule = `--host-resolver-rules=${rules.join(', ')}`;
  const browser = await chromium.launch({ ...launchOptions, args: [...launchOptions.args, rule] });
  stack.defer(() => browser.close());
  const opened = stack.move();
  return { browser, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Alice logs in with her password, on the page that asks for her address. */
export async function logIn(page: Page): Promise<void> {
  await page.fill('[name=identifier]', alice.email);
  await page.click('.gp-main');
  await page.fill('[name=password]', alice.password);
  await page.click('.gp-main');
}
