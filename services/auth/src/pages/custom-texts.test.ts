// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Auth0 writes values so.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { checkCustomTexts, customizable } from './custom-texts.ts';
import { renderPage } from './render.ts';
import { samples } from './sample.ts';
import { en } from './strings/en.ts';

const form = { action: '/u/login/abc' };
const application = { id: 'app', name: 'Shop' };
const tenant = { friendly_name: 'Acme' };

test('every text key of Auth0’s has a counterpart here', () => {
  const missing = Object.entries(customizable).flatMap(([screen, { page, places }]) =>
    Object.values(places)
      .filter((place) => place !== 'pageTitle')
      .map((place) => (place.includes('.') ? place.split('.') : [page, place]))
      .filter(([section, name]) => !Object.hasOwn(en[section as 'common'], name as string))
      .map((place) => `${screen}: ${place}`),
  );
  expect(missing).toEqual([]);
});

test('every screen of Auth0’s is one of our pages, under the name that templates use or under another of Auth0’s', () => {
  const shown = samples.map(({ render }) => {
    const template = '{%- auth0:head -%}<p id="at">{{ prompt.name }}/{{ prompt.screen.name }}</p>{%- auth0:widget -%}';
    return /<p id="at">(.*?)</.exec(render(undefined, undefined, template).html)?.[1];
  });
  const others = ['email-otp-challenge/email-otp-challenge'];
  expect(Object.keys(customizable).filter((screen) => !shown.includes(screen) && !others.includes(screen))).toEqual([]);
});

test('the reference lists every screen with its keys', () => {
  const reference = readFileSync(new URL('../../../../docs/reference/management-api.md', import.meta.url), 'utf8');
  for (const [screen, { places }] of Object.entries(customizable)) {
    const keys = Object.keys(places).map((key) => `\`${key}\``);
    expect(reference).toContain(`| \`${screen}\` | ${keys.join(', ')} |`);
  }
});

describe('a tenant’s custom texts', () => {
  const textsOf = (texts: Record<string, string>, language = 'en') => ({ [language]: { 'login/login': texts } });
  const login = (customTexts: ReturnType<typeof textsOf>, context: object = {}) =>
    renderPage('login', { ...form, kinds: ['email'], application, tenant, customTexts, ...context }).html;

  test('replace ours, with their values filled in and escaped', () => {
    const html = login(
      textsOf({
        pageTitle: 'In | ${clientName}',
        title: '<b>Hello</b>',
        description: 'To ${clientName} with ${companyName}',
        emailPlaceholder: 'Mail for ${clientName}',
        'wrong-credentials': 'Nope & no',
      }),
      { problems: ['wrong_credentials'] },
    );
    expect(html).toContain('<title>Error: In | Shop</title>');
    expect(html).toContain('<h1>&lt;b&gt;Hello&lt;/b&gt;</h1>');
    expect(html).toContain('To <bdi>Shop</bdi> with <bdi>Acme</bdi>');
    expect(html).toContain('>Mail for Shop</label>');
    expect(html).toContain('Nope &amp; no');
    expect(html).toContain('>Sign in</button>');
  });

  test('are not used where the page lacks one of their values, or where a button would be left without text', () => {
    const html = login(textsOf({ title: 'Into ${clientName}', description: ' ', buttonText: ' ' }), {
      application: undefined,
    });
    expect(html).toContain('<h1>Sign in</h1>');
    expect(html).toContain('>Sign in</button>');
    expect(login(textsOf({ description: ' ' }))).not.toContain('to continue to');
  });

  test('can name the organization of the request, and each provider on its button', () => {
    const elsewhere = [
      { href: '#a', label: 'Acme & Sons', mark: 'oidc' },
      { href: '#b', label: 'GitHub', mark: 'github' },
    ];
    const texts = textsOf({
      title: 'Into ${organizationName}',
      description: 'At ${companyName}, by ${tenantName}',
      separatorText: 'Or else',
      federatedConnectionButtonText: '${connectionName} for ${clientName}',
    });
    const within = { id: 'org_1', name: 'guild', display_name: 'Guild', metadata: {}, branding: {} };
    const html = login(texts, { elsewhere, within });
    expect(html).toContain('<h1>Into Guild</h1>');
    expect(html).toContain('At <bdi>Guild</bdi>, by <bdi>Acme</bdi>');
    expect(html).toContain('<span>Or else</span>');
    expect(html).toContain('<span>Acme &amp; Sons for Shop</span>');
    expect(html).toContain('<span>GitHub for Shop</span>');
    const without = login(texts, { elsewhere });
    expect(without).toContain('<h1>Sign in</h1>');
    expect(without).toContain('At <bdi>Acme</bdi>, by <bdi>Acme</bdi>');
    expect(login(texts, { elsewhere, application: undefined })).toContain('<span>Continue with GitHub</span>');
    expect(checkCustomTexts('login', { login: { title: '${connectionName}' } })).toContain('login.login.title: braces');
  });

  test('are taken in the page’s language, for its region first', () => {
    const customTexts = { ...textsOf({ title: 'Servus' }, 'de-at'), ...textsOf({ title: 'Tach' }, 'de') };
    const enabledLocales = ['en', 'de', 'de-AT'];
    const inLanguage = (uiLocales: string) => login(customTexts, { uiLocales, enabledLocales });
    expect(inLanguage('de-AT')).toContain('<h1>Servus</h1>');
    expect(inLanguage('de')).toContain('<h1>Tach</h1>');
    expect(inLanguage('en')).toContain('<h1>Sign in</h1>');
  });

  test('for the code page may be given under either of Auth0’s names for it', () => {
    const code = { ...form, channel: 'email' as const, sentTo: 'a@b.example' };
    const email = { 'email-otp-challenge/email-otp-challenge': { title: 'Code?', description: 'To ${email}' } };
    expect(renderPage('code', { ...code, customTexts: { en: email } }).html).toMatch(
      /<h1>Code\?<\/h1>\s*<p class="gp-lead">To <bdi>a@b.example<\/bdi>/,
    );
    const sms = { 'login-passwordless/login-passwordless-sms-otp': { title: 'SMS?' } };
    expect(renderPage('code', { ...code, channel: 'sms', customTexts: { en: sms } }).html).toContain('<h1>SMS?</h1>');
    expect(renderPage('code', { ...code, customTexts: { en: sms } }).html).not.toContain('SMS?');
  });

  test.each([
    ['mfa-push', { 'mfa-push-welcome': { title: 'x' } }, 'mfa-push.mfa-push-welcome: the pages have no such screen'],
    ['login', { signup: { title: 'x' } }, 'login.signup: the pages have no such screen'],
    ['login', { login: { tilte: 'x' } }, 'login.login.tilte: the page has no such text'],
    ['login', { login: { constructor: 'x' } }, 'login.login.constructor: the page has no such text'],
    ['login', { login: { title: 'x'.repeat(1_001) } }, 'login.login.title: longer than 1000 characters'],
    [
      'login',
      { login: { title: '${email}' } },
      'login.login.title: braces stand around values only, which are ${clientName}, ${companyName}, ${organizationName}, ${tenantName}',
    ],
    ['login', { login: { title: '{application}' } }, 'login.login.title: braces'],
    ['reset-password', { 'reset-password-email': { emailDescription: 'To ${email}' } }, undefined],
    ['login', {}, undefined],
  ])('are refused with the path of the mistake: %s %j', (prompt, texts, problem) => {
    const found = checkCustomTexts(prompt, texts as Record<string, Record<string, string>>);
    expect(problem === undefined ? found : found?.startsWith(problem)).toBe(problem === undefined ? undefined : true);
  });
});
