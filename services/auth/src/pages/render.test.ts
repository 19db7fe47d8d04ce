import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { chooseLanguage, locales } from './language.ts';
import type { PageContext } from './pages.ts';
import { renderPage } from './render.ts';
import { samples } from './sample.ts';

const form = { action: '/u/login/abc', hidden: { csrf: 'token' } };
const login: PageContext<'login'> = { ...form, kinds: ['email'] };
const hostile = `"><script>alert(1)</script>'\u2028<!--`;

describe('every hosted page', () => {
  test.each(samples.map((sample) => [sample.name, sample] as const))(
    'has strict headers and is a whole document: %s',
    (_, sample) => {
      const { html, headers } = sample.render();
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      expect(headers).not.toHaveProperty('cross-origin-opener-policy');
      const csp = headers['content-security-policy'] ?? '';
      expect(csp).toContain("default-src 'none'");
      expect(csp).not.toMatch(/unsafe|\*(?!;| |$)/);
      expect(csp).toContain(
        sample.page === 'web-message' ? 'frame-ancestors http://localhost:4599' : "frame-ancestors 'none'",
      );
      expect('x-frame-options' in headers).toBe(sample.page !== 'web-message');
      expect(html).toMatch(/^<!DOCTYPE html>\s*<html lang="en" dir="ltr">/);
      expect(html.match(/<h1>/g)).toHaveLength(1);
      expect(html).not.toMatch(/ (on\w+|style)=/);
      expect(html).not.toMatch(/\{\w+\}|undefined|\[object/);
    },
  );

  test.each(locales.slice(1))('contains no English text in %s', (locale) => {
    for (const { name, render } of samples) {
      const { html, headers } = render(`xx ${locale}-CH`);
      expect(headers['content-language']).toBe(locale);
      expect(html).toContain(`<html lang="${locale}"`);
      expect([name, html.match(/Sign in|Get help|Create|Forgot|Choose/)]).toEqual([name, null]);
    }
  });
});

// WCAG 2.5.3: else whoever speaks what they see reaches nothing.
test.each(locales)('what a link or a button is called contains what it shows, in %s', (locale) => {
  for (const { name, render } of samples) {
    const { html } = render(locale);
    for (const [, , label = '', inner = ''] of html.matchAll(
      /<(a|button|summary)\b[^>]* aria-label="([^"]*)"[^>]*>(.*?)<\/\1>/gs,
    )) {
      const shown = inner.replace(/<span aria-hidden="true">.*?<\/span>|<[^>]+>/g, '').trim();
      expect([name, label.toLowerCase()]).toEqual([name, expect.stringContaining(shown.toLowerCase())]);
    }
  }
});

test('each of several factors is renamed by a control with its own name', () => {
  const { html } = samples.find(({ name }) => name === 'account-security')!.render();
  expect(html).toContain('<summary aria-label="Name: My &lt;work&gt; laptop">Name</summary>');
});

describe('renderPage', () => {
  test('escapes every value as text', () => {
    const pages = [
      renderPage('login', { ...login, identifier: hostile, hidden: { [hostile]: hostile } }),
      renderPage('code', { ...form, channel: 'email', sentTo: hostile, application: { id: 'x', name: hostile } }),
      renderPage('error', { error: hostile, description: hostile, reference: hostile }),
      renderPage('form-post', { action: 'https://app.example/cb', fields: { state: hostile } }),
      renderPage('web-message', { origin: 'https://app.example', response: { state: hostile } }),
      renderPage('consent', {
        ...form,
        redirectHost: hostile,
        application: { id: 'x', name: hostile },
        apis: [{ name: hostile, identifier: hostile, scopes: [{ value: hostile, description: hostile }] }],
      }),
    ];
    for (const { html } of pages) {
      expect(html).not.toContain('<script>alert');
      expect(html).not.toContain('"><script');
      expect(html).not.toContain('<!--');
    }
    expect(pages[4]?.html).not.toContain('\u2028');
  });

  test('does not mention an application or a person that it was not given', () => {
    const { html } = renderPage('login', login);
    expect(html).not.toContain('to continue to');
    expect(renderPage('error', { error: 'invalid_request' }).html).toContain('<code>invalid_request</code>');
  });

  test.each([
    ['https://app.example/cb', "form-action 'self' https:;"],
    ['http://app.example:81/cb', "form-action 'self' https: http://app.example:81;"],
    [
      'http://localhost:3000/cb',
      "form-action 'self' https: http://localhost:3000 http://localhost:* http://127.0.0.1:*;",
    ],
    ['http://[::1]:3000/cb', "form-action 'self' https: http: "],
    ['com.example.app:/cb', "form-action 'self' https: com.example.app:;"],
    ['not a url', "form-action 'self' https:;"],
  ])('allows its form to lead to the application at %s', (redirectUri, directive) => {
    expect(renderPage('login', { ...login, redirectUri }).headers['content-security-policy']).toContain(directive);
  });

  test('loads the tenant’s logo, and nothing else from elsewhere', () => {
    const logoUrl = 'https://cdn.example:8443/logo.svg?a=1&b="2"';
    const { html, headers } = renderPage('login', { ...login, branding: { logoUrl } });
    expect(html).toMatch(
      /<img class="gp-logo" src="https:\/\/cdn\.example:8443\/logo\.svg\?a=1&amp;b=&#34;2&#34;" alt=""/,
    );
    expect(headers['content-security-policy']).toContain("img-src 'self' data: https://cdn.example:8443;");
    const plain = renderPage('login', login);
    expect(plain.html).not.toContain('<img');
    expect(plain.headers['content-security-policy']).toContain("img-src 'self' data:;");
    const own = '<head>{%- auth0:head -%}</head>{{ branding.logo_url }}{%- auth0:widget -%}';
    expect(
      renderPage('login', { ...login, branding: { logoUrl: 'https://cdn.example/x' }, template: own }).html,
    ).toContain('</head>https:');
  });

  test('applies the tenant’s colours, favicon and font in one more style, which the policy allows by its hash', () => {
    const branding = {
      primary: '#ffd400',
      pageBackground: { type: 'linear-gradient' as const, start: '#ffffff', end: '#000000', angle_deg: 35 },
      faviconUrl: 'https://icons.example/f.ico',
      fontUrl: 'https://fonts.example/brand.woff2?"</style>\\\'()',
    };
    const { html, headers } = renderPage('login', { ...login, branding });
    const csp = headers['content-security-policy'] ?? '';
    const styles = [...html.matchAll(/<style>(.*?)<\/style>/gs)].map(([, text]) => text as string);
    expect(styles).toHaveLength(2);
    for (const text of styles) expect(csp).toContain(`'sha256-${createHash('sha256').update(text).digest('base64')}'`);
    expect(styles[1]).toContain(
      '--accent:#ffd400;--accent-strong:#ffdc2e;--on-accent:#000000;--font:brand,system-ui,sans-serif;--ground:linear-gradient(35deg,#ffffff,#000000)',
    );
    expect(styles[1]).toContain('src:url("https://fonts.example/brand.woff2?%22%3C/style%3E%5C%27%28%29")');
    expect(csp).toContain("img-src 'self' data: https://icons.example;");
    expect(csp).toContain('font-src https://fonts.example;');
    expect(html).toContain('<link rel="icon" href="https://icons.example/f.ico">');
    expect(renderPage('login', login).html.match(/<style>/g)).toHaveLength(1);
    const template = '<head>{%- auth0:head -%}</head>{{ branding.colors.primary }}{%- auth0:widget -%}';
    expect(renderPage('login', { ...login, branding, template }).html).toContain('</head>#ffd400');
  });

  test('shows the application’s logo on the consent page, over https or from the developer’s own machine', () => {
    const consent = (logo_url: string) =>
      renderPage('consent', {
        ...form,
        redirectHost: 'app.example',
        apis: [],
        application: { id: 'app', name: 'App', logo_url },
      });
    const { html, headers } = consent('https://cdn.example/app.svg?a="1"');
    expect(html).toContain('<img src="https://cdn.example/app.svg?a=%221%22" alt="" data-initial="A" ');
    expect(headers['content-security-policy']).toContain("img-src 'self' data: https://cdn.example;");
    expect(consent('http://localhost:4599/logo.png').html).toContain('<img');
    for (const other of ['http://cdn.example/app.svg', 'javascript:alert(1)', 'data:image/png;base64,AA', 'x', ''])
      expect(consent(other).html).not.toContain('<img');
    const application = { id: 'app', name: 'App', logo_url: 'https://cdn.example/app.svg' };
    expect(renderPage('login', { ...login, application }).headers['content-security-policy']).not.toContain('cdn');
  });

  test.each([
    [undefined, undefined, 'en'],
    ['de', 'en', 'de'],
    ['xx yy', 'de;q=0.8, it', 'de'],
    ['', 'en;q=0.1, de;q=0.9', 'de'],
    ['', 'de;q=0', 'en'],
    ['\0;;;,', ';q=;,,', 'en'],
  ])(
    'uses the first language that it knows: ui_locales %j, Accept-Language %j',
    (uiLocales, acceptLanguage, locale) => {
      expect(chooseLanguage(uiLocales, acceptLanguage).tag).toBe(locale);
    },
  );

  test.each([
    [['de', 'en'], '', 'it', 'de'],
    [['de', 'en'], 'fr', 'en-GB', 'en'],
    [['de'], 'en', 'en', 'de'],
    [['en', 'de-AT', 'de-CH'], 'de-CH', '', 'de-CH'],
    [['en', 'de-AT'], 'de', '', 'de-AT'],
    [['xx', 'zz'], '', '', 'en'],
  ])(
    'uses one of the enabled languages %j: ui_locales %j, Accept-Language %j',
    (enabled, uiLocales, acceptLanguage, tag) => {
      const { tag: chosen, strings } = chooseLanguage(uiLocales, acceptLanguage, enabled);
      expect(chosen).toBe(tag);
      expect(strings.identifier.submit).toBe(tag.startsWith('de') ? 'Weiter' : 'Continue');
    },
  );
});

test.each([
  ['en', 1, 'Try again in <bdi>1 minute</bdi>.'],
  ['en', 10, 'Try again in <bdi>10 minutes</bdi>.'],
  ['de', 1, 'Versuchen Sie es in <bdi>1 Minute</bdi> noch einmal.'],
])('states the length of a pause in %s: %i minutes', (language, minutes, text) => {
  expect(renderPage('too-many-attempts', { uiLocales: language, minutes }).html).toContain(text);
});
