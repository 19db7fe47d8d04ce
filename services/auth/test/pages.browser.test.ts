/** The hosted pages in a real browser: accessible, usable by keyboard, without JavaScript and at 320 px, light, and shut tight. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { violationsOf } from '@gatepost/testkit/axe';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { openPreview } from '../src/pages/preview.ts';
import { renderPage } from '../src/pages/render.ts';
import { samples } from '../src/pages/sample.ts';

// `form-post` leaves at once when scripts run; it is looked at without.
const staying = samples.filter(({ page }) => page !== 'form-post');

let browser: Browser;
let preview: Awaited<ReturnType<typeof openPreview>>;

beforeAll(async () => {
  preview = await openPreview();
  browser = await chromium.launch(launchOptions);
});

afterAll(async () => {
  await browser?.close();
  preview?.server.closeAllConnections();
  await new Promise((resolve) => preview.server.close(resolve));
});

/** One for all tabs that are opened alike: it takes half a second, and the pages leave nothing in it. */
const contexts = new Map<string, Promise<BrowserContext>>();

/** Opens a tab, gives it to the test with all that went wrong in it, and closes it. */
async function inTab(
  options: BrowserContextOptions,
  look: (page: Page, troubles: string[]) => Promise<void>,
): Promise<void> {
  const alike = JSON.stringify(options);
  const opening = contexts.get(alike) ?? browser.newContext(options);
  contexts.set(alike, opening);
  const context = await opening;
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on('console', (message) => troubles.push(message.text()));
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(preview.url) && !request.url().startsWith('data:')) troubles.push(request.url());
  });
  try {
    await look(page, troubles);
  } finally {
    await page.close();
  }
}

const open = (page: Page, name: string, query = '') => page.goto(`${preview.url}${name}${query}`);

describe('hosted pages', () => {
  test('pass axe-core in light and dark', async () => {
    // Else the colours of buttons are still on their way from light to dark.
    await inTab({ reducedMotion: 'reduce', colorScheme: 'light' }, async (page) => {
      const found: string[] = [];
      for (const { name, render } of staying) {
        // Without a visit: axe-core stays, and is at its speed.
        await page.setContent(render().html);
        found.push(...(await violationsOf(page)).map((violation) => `${name}: ${violation}`));
        // In the dark only the colours are others.
        await page.emulateMedia({ colorScheme: 'dark' });
        const ofColours = await violationsOf(page, { runOnly: ['color-contrast'] });
        found.push(...ofColours.map((violation) => `${name}, dark: ${violation}`));
        await page.emulateMedia({ colorScheme: 'light' });
      }
      expect(found).toEqual([]);
    });
  });

  test.each([
    ['#ffd400', '#000000', 'light'],
    ['#ffd400', '#000000', 'dark'],
    ['#1a1a2e', '#ff4f40', 'light'],
    ['#1a1a2e', '#ff4f40', 'dark'],
    ['#fff', '#fff', 'light'],
    ['#888888', '#777', 'dark'],
  ] as const)('have enough contrast in any colours: %s on %s, %s', async (primary, pageBackground, colorScheme) => {
    await inTab({ colorScheme }, async (page) => {
      const found: string[] = [];
      const looked = ['login-problem', 'code-problem', 'consent', 'password-changed'];
      for (const { name, render } of samples.filter((sample) => looked.includes(sample.name))) {
        await page.setContent(render(undefined, { primary, pageBackground }).html);
        const ofColours = await violationsOf(page, { runOnly: ['color-contrast'] });
        found.push(...ofColours.map((violation) => `${name}: ${violation}`));
      }
      expect(found).toEqual([]);
    });
  });

  test('show nothing in place of a logo that does not load', async () => {
    await using host = await serve((_, response) => response.writeHead(404).end());
    await inTab({ javaScriptEnabled: false }, async (page) => {
      const sizeOf = async (logoUrl: string) => {
        const answered = page.waitForResponse(logoUrl);
        await open(page, 'login', `?${new URLSearchParams({ logoUrl })}`);
        await answered;
        const box = await page.locator('img.gp-logo').boundingBox();
        return { width: box?.width ?? 0, height: box?.height ?? 0 };
      };
      expect(await sizeOf(`${host.url}logo.png`)).toEqual({ width: 0, height: 0 });
      const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 20"></svg>';
      await using there = await serve((_, response) => response.setHeader('content-type', 'image/svg+xml').end(svg));
      expect(await sizeOf(`${there.url}logo.svg`)).toEqual({ width: 84, height: 28 });
    });
  });

  test('show an application’s logo over its initial, and the initial again when it does not load', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 20"></svg>';
    await using host = await serve(({ url }, response) =>
      url === '/logo.svg'
        ? response.setHeader('content-type', 'image/svg+xml').end(svg)
        : response.writeHead(404).end(),
    );
    await using gate = await serve(({ url }, response) => {
      const application = { id: 'app', name: 'App', logo_url: new URL(url!, host.url).href };
      send(response, renderPage('consent', { action: '#', apis: [], redirectHost: 'app.example', application }));
    });
    await inTab({ javaScriptEnabled: false }, async (page) => {
      const widthOf = async (name: string) => {
        const answered = page.waitForResponse(`${host.url}${name}`);
        await page.goto(`${gate.url}${name}`);
        await answered;
        return (await page.locator('.gp-initial img').boundingBox())?.width ?? 0;
      };
      expect(await widthOf('logo.svg')).toBeCloseTo(52, 0);
      expect(await widthOf('none.svg')).toBe(0);
      expect(
        await page.evaluate("getComputedStyle(document.querySelector('.gp-initial img'), '::after').content"),
      ).toBe('"A"');
    });
  });

  test('break no rule of their own Content-Security-Policy and load nothing from elsewhere', async () => {
    await inTab({}, async (page, troubles) => {
      for (const { name } of staying) {
        await open(page, name);
        const width = await page.evaluate("getComputedStyle(document.querySelector('.gp-card')).maxWidth");
        expect(width).toBe(name.startsWith('account') ? '608px' : '416px');
      }
      expect(troubles).toEqual([]);
    });
  });

  test.each([
    ['en', 'ltr'],
    ['fr', 'ltr'],
    ['de', 'rtl'],
  ])('do not scroll sideways at 320 px, %s %s', async (locale, direction) => {
    await inTab({ viewport: { width: 320, height: 640 }, javaScriptEnabled: false }, async (page) => {
      const wide: string[] = [];
      for (const { name, render } of samples) {
        const { html } = render(locale);
        // Without a visit, which takes several times as long.
        await page.setContent(direction === 'rtl' ? html.replace('dir="ltr"', 'dir="rtl"') : html);
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        if (width > 320) wide.push(`${name}: ${width}`);
      }
      expect(wide).toEqual([]);
    });
  });

  test.each(['en', 'de', 'es', 'fr', 'pt'])('cut no word of a heading at 320 px, %s', async (locale) => {
    await inTab({ viewport: { width: 320, height: 640 }, javaScriptEnabled: false }, async (page) => {
      const cut: string[] = [];
      for (const { name, render } of samples) {
        await page.setContent(render(locale).html);
        cut.push(...(await page.evaluate<string[]>(cutWords)).map((word) => `${name}: ${word}`));
      }
      expect(cut).toEqual([]);
    });
  });

  test('send their forms without JavaScript', async () => {
    await inTab({ javaScriptEnabled: false }, async (page) => {
      await open(page, 'password');
      await page.fill('#password', 'correct horse');
      const [request] = await Promise.all([
        page.waitForRequest((r) => r.method() === 'POST'),
        page.press('#password', 'Enter'),
      ]);
      expect(Object.fromEntries(new URLSearchParams(request.postData() ?? ''))).toEqual({
        csrf: 'sample',
        identifier: 'alice@example.com',
        password: 'correct horse',
        action: 'default',
      });
      await open(page, 'password');
      const [other] = await Promise.all([
        page.waitForRequest((r) => r.method() === 'POST'),
        page.getByRole('button', { name: 'one-time code' }).click(),
      ]);
      expect(new URLSearchParams(other.postData() ?? '').get('action')).toBe('code');
      expect(await page.locator('.gp-reveal button').isVisible()).toBe(false);
    });
  });

  test('are used by keyboard in reading order, with the focus in the first field to fill', async () => {
    await inTab({}, async (page) => {
      const walk = async (name: string, steps: number) => {
        await open(page, name);
        await page.waitForFunction('document.activeElement !== document.body');
        const seen: string[] = [];
        for (let step = 0; step <= steps; step += 1) {
          seen.push(await page.evaluate<string>(focused));
          await page.keyboard.press('Tab');
        }
        return seen;
      };
      expect(await walk('login', 5)).toEqual([
        'identifier',
        'password',
        'Show password',
        'Sign in',
        'Forgot password?',
        'Create an account',
      ]);
      expect((await walk('login-problem', 1))[0]).toBe('password');
      expect((await walk('signup-problem', 1))[0]).toBe('email');
      expect((await walk('code', 2)).slice(0, 3)).toEqual(['code', 'Continue', 'Send a new code']);
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    });
  });

  test('tie an error to its field', async () => {
    await inTab({}, async (page) => {
      await open(page, 'login-problem');
      const field = page.getByLabel('Password', { exact: true });
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      const described = (await field.getAttribute('aria-describedby')) ?? '';
      const problem = page.getByRole('alert').locator(`#${described.split(' ')[0]}`);
      expect(await problem.textContent()).toBe('Wrong email or password.');
      expect(await page.title()).toBe('Error: Sign in · Gatepost');
    });
  });

  test('show a typed password on request, and hide it again before it is sent', async () => {
    await inTab({}, async (page) => {
      await open(page, 'password');
      await page.fill('#password', 'x');
      await page.getByRole('button', { name: 'Show password' }).click();
      expect(await page.getAttribute('#password', 'type')).toBe('text');
      await page.evaluate("document.forms[0].addEventListener('submit', (event) => event.preventDefault())");
      await page.press('#password', 'Enter');
      expect(await page.getAttribute('#password', 'type')).toBe('password');
    });
  });

  test('let a form of ours lead to the application, and on to wherever its callback redirects', async () => {
    // Chromium holds the whole chain of redirects against form-action: `'self'` alone locks everybody out.
    await using elsewhere = await serve((_, response) => response.end('arrived'));
    await using application = await serve((_, response) => redirect(response, 302, elsewhere.url));
    await using gate = await serve((request, response) => {
      if (request.method === 'POST') return redirect(response, 303, `${application.url}callback`);
      const form = { action: '/login', kinds: ['email' as const], redirectUri: `${application.url}callback` };
      send(response, renderPage('login', form));
    });
    await inTab({}, async (page) => {
      await page.goto(gate.url);
      await page.fill('#password', 'x');
      await page.press('#password', 'Enter');
      await page.waitForURL(elsewhere.url);
    });
  });

  test('sec-020-form-post: post a form_post response by themselves, hostile values inert', async () => {
    const fields = { code: 'abc', state: '"><script>alert(1)</script>', submit: 'x', iss: 'http://localhost:4400/' };
    let received = '';
    await using application = await serve(async (request, response) => {
      for await (const part of request) received += part;
      response.end('received');
    });
    await using gate = await serve((_, response) =>
      send(response, renderPage('form-post', { action: `${application.url}callback`, fields })),
    );
    await inTab({}, async (page) => {
      await page.goto(gate.url).catch(() => {});
      await page.waitForURL(`${application.url}callback`);
      expect(Object.fromEntries(new URLSearchParams(received))).toEqual(fields);
    });
    received = '';
    await inTab({ javaScriptEnabled: false }, async (page) => {
      await page.goto(gate.url);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForURL(`${application.url}callback`);
      expect(Object.fromEntries(new URLSearchParams(received))).toEqual(fields);
    });
  });

  test.each([
    ['the application', true],
    ['anybody else', false],
  ])('sec-022-web-message: post a web_message response to exactly its origin: framed by %s', async (_, allowed) => {
    const response = { error: 'login_required', state: '</script>\u2028', iss: 'http://localhost:4400/' };
    await using stranger = await serve((_request, answer) => answer.end());
    await using gate = await serve((_request, answer) => {
      const origin = new URL(allowed ? application.url : stranger.url).origin;
      send(answer, renderPage('web-message', { origin, response }));
    });
    await using application = await serve((_request, answer) =>
      answer.setHeader('content-type', 'text/html').end(`<script>
        messages = [];
        addEventListener('message', ({ origin, data }) => messages.push({ origin, data }));
      </script><iframe src="${gate.url}" onload="loaded = true"></iframe>`),
    );
    await inTab({}, async (page) => {
      await page.goto(application.url);
      await page.waitForFunction(() => 'loaded' in globalThis);
      const messages = () => page.evaluate(() => (globalThis as unknown as { messages: unknown[] }).messages);
      if (allowed) await until('the message', async () => (await messages()).length > 0);
      expect(await messages()).toEqual(
        allowed ? [{ origin: new URL(gate.url).origin, data: { type: 'authorization_response', response } }] : [],
      );
    });
  });

  test("wear a tenant's template: its own styles work, those in a value do not, and its scripts never", async () => {
    const template = `<!DOCTYPE html><html lang="{{ locale }}"><head>{%- auth0:head -%}
      <style>#mine { color: rgb(1, 2, 3) }</style></head>
      <body class="_widget-auto-layout"><p id="mine">{{ application.name }} {{ transaction.params["ext-note"] }}</p>
      {%- auth0:widget -%}<script>document.title = 'owned'</script></body></html>`;
    const note = '<style>#mine { color: red }</style>';
    await using gate = await serve((_, response) => {
      const application = { id: 'app', name: 'App' };
      const form = { action: '/login', kinds: ['email' as const], application, template, params: { 'ext-note': note } };
      send(response, renderPage('login', form));
    });
    await inTab({}, async (page) => {
      await page.goto(gate.url);
      expect(await page.textContent('#mine')).toBe(`App ${note}`);
      expect(await page.evaluate("getComputedStyle(document.querySelector('#mine')).color")).toBe('rgb(1, 2, 3)');
      expect(await page.title()).toBe('Sign in · Gatepost');
      expect(await page.getByLabel('Password', { exact: true }).isVisible()).toBe(true);
    });
  });

  test('weigh less than 30 kB each', () => {
    const heavy = samples
      .map(({ name, render }) => ({ name, bytes: Buffer.byteLength(render('de').html) }))
      .filter(({ bytes }) => bytes >= 30_000);
    expect(heavy).toEqual([]);
  });
});

/** A server of the test on its own port of localhost, so an origin of its own. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function redirect(response: ServerResponse, status: number, location: string): void {
  response.writeHead(status, { location }).end();
}

function send(response: ServerResponse, { html, headers }: { html: string; headers: Record<string, string> }): void {
  response.writeHead(200, headers).end(html);
}

/** Runs in the page: what has the focus, by its name or what it says. */
const focused = `(({ ariaLabel, textContent, name }) => ariaLabel || textContent || name)(document.activeElement)`;

/** Runs in the page: words of headings that go on in the next line, other than after a hyphen, which counts as part of what follows it. */
const cutWords = `(() => {
  const cut = [];
  const range = document.createRange();
  for (const heading of document.querySelectorAll('h1, h2')) {
    const texts = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const topOf = (index) => {
        range.setStart(texts.currentNode, index);
        range.setEnd(texts.currentNode, index + 1);
        return Array.from(range.getClientRects()).at(-1)?.top;
      };
      for (const { 0: part, index } of texts.currentNode.data.matchAll(/[^\\s\\u00ad\\u2010-]+/g))
        if (topOf(index) !== topOf(index + part.length - 1)) cut.push(part);
    }
  }
  return cut;
})()`;
