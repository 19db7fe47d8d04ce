/** Every page with a plausible context, in all its states: for the preview and for the tests that look at each. */
import type { PageContext, PageName } from './pages.ts';
import { renderPage } from './render.ts';

const place = {
  tenant: { friendly_name: 'Gatepost', support_email: 'support@example.com' },
  application: { id: 'demo-web', name: 'Demo Web App' },
  redirectUri: 'http://localhost:4599/callback',
  hidden: { csrf: 'sample' },
  action: '#',
};
const user = { user_id: 'auth0|alice', email: 'alice@example.com', name: 'Alice Example' };
const apis = [
  { scopes: [{ value: 'openid' }, { value: 'profile' }, { value: 'email' }, { value: 'offline_access' }] },
  {
    name: 'Webhook API',
    identifier: 'http://localhost:4500/',
    scopes: [
      { value: 'repo', description: 'Full control of repositories and their hooks' },
      { value: 'read:repo_hook', description: 'Read and ping repository hooks' },
      { value: 'site_admin' },
    ],
  },
];

type Sample = { name: string; page: PageName; render: (languages?: string) => ReturnType<typeof renderPage> };

function sample<Name extends PageName>(name: string, page: Name, context: PageContext<Name>): Sample {
  return { name, page, render: (uiLocales) => renderPage(page, { ...context, uiLocales }) };
}

export const samples: Sample[] = [
  sample('identifier', 'identifier', { ...place, kinds: ['email', 'phone'], signup: '#signup' }),
  sample('identifier-problem', 'identifier', {
    ...place,
    kinds: ['email', 'phone'],
    identifier: 'alice@',
    problem: 'identifier_unusable',
    signup: '#signup',
  }),
  sample('password', 'password', { ...place, identifier: 'alice@example.com', edit: '#e', code: true, forgot: '#f' }),
  sample('password-problem', 'password', {
    ...place,
    identifier: 'a.person.with.quite.a.long.address@subdomain.example.com',
    edit: '#e',
    forgot: '#f',
    problem: 'wrong_credentials',
  }),
  sample('login', 'login', { ...place, kinds: ['email'], forgot: '#f', signup: '#s' }),
  sample('login-problem', 'login', {
    ...place,
    kinds: ['email'],
    identifier: 'alice@example.com',
    problem: 'wrong_credentials',
    forgot: '#f',
    signup: '#s',
  }),
  sample('code', 'code', { ...place, channel: 'email', sentTo: 'alice@example.com', edit: '#e', resend: true }),
  sample('code-problem', 'code', {
    ...place,
    channel: 'sms',
    sentTo: '+15555550100',
    edit: '#e',
    resend: true,
    resent: true,
    password: '#p',
    problem: 'code_wrong',
  }),
  sample('login-link', 'login-link', { ...place, email: 'alice@example.com' }),
  sample('sign-in-as', 'sign-in-as', { ...place, identifier: 'mallory@example.com' }),
  sample('sign-in-as-other', 'sign-in-as', {
    ...place,
    user,
    identifier: 'a.person.with.quite.a.long.address@subdomain.example.com',
  }),
  sample('signup', 'signup', { ...place, login: '#l', passwordMinLength: 12 }),
  sample('signup-problem', 'signup', {
    ...place,
    email: 'alice@example.com',
    login: '#l',
    passwordMinLength: 12,
    problem: 'password_too_short',
  }),
  sample('consent', 'consent', { ...place, user, apis, redirectHost: 'localhost:4599' }),
  sample('device-code', 'device-code', place),
  sample('device-code-problem', 'device-code', { ...place, userCode: 'WDJB-MJH', problem: 'user_code_wrong' }),
  sample('device-confirm', 'device-confirm', { ...place, userCode: 'WDJB-MJHT' }),
  sample('device-done', 'device-done', { ...place, outcome: 'allowed' }),
  sample('device-denied', 'device-done', { ...place, outcome: 'denied' }),
  sample('logout', 'logout', { ...place, user }),
  sample('logged-out', 'logged-out', { ...place, back: '#back' }),
  sample('error', 'error', {
    tenant: place.tenant,
    error: 'invalid_request',
    description: "redirect_uri did not match any of the client's registered redirect_uris",
    reference: '0f8fad5b-d9cb-469f-a165-70867728950e',
  }),
  sample('error-unavailable', 'error', { ...place, error: 'temporarily_unavailable', back: '#again' }),
  sample('stale', 'stale', { ...place, back: '#again' }),
  sample('stale-plain', 'stale', { tenant: place.tenant }),
  sample('too-many-attempts', 'too-many-attempts', { ...place, back: '#back', minutes: 10 }),
  sample('forgot-password', 'forgot-password', { ...place, back: '#back' }),
  sample('password-mail-sent', 'password-mail-sent', { ...place, email: 'alice@example.com', back: '#back' }),
  sample('new-password', 'new-password', { ...place, email: 'alice@example.com', passwordMinLength: 12 }),
  sample('password-changed', 'password-changed', { ...place, back: '#back' }),
  sample('form-post', 'form-post', {
    ...place,
    action: 'http://localhost:4599/callback',
    fields: { code: 'sample-code', state: '"><script>alert(1)</script>', iss: 'http://localhost:4400/' },
  }),
  sample('web-message', 'web-message', {
    ...place,
    origin: 'http://localhost:4599',
    response: { error: 'login_required', state: '</script>\u2028', iss: 'http://localhost:4400/' },
  }),
];
