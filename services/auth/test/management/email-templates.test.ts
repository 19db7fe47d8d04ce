/** The mails in a tenant's own words: `email-templates` through the `auth0` package, unmodified, and what people then get. */
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openManagement, refusal } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, ask, clientOf } = stack.use(await openManagement());
const connection = 'Username-Password-Authentication';
let sent = 0;
/** The next mail that lands in the outbox. */
const nextMail = async () => {
  const mail = await until('a mail', async () => (await gate.mails())[sent]);
  sent += 1;
  return mail;
};
const passwordMail = async (email = 'alice@example.com') => {
  await gate.post('dbconnections/change_password', { client_id: 'web', connection, email });
  return nextMail();
};
const html = (body: string) => `<html><head><style>p { color: red }</style></head><body>${body}</body></html>`;

describe('email templates', () => {
  test('are created, read, changed and replaced', async () => {
    await expect(auth0.emailTemplates.get('welcome_email')).rejects.toEqual(refusal(404, 'inexistent_email_template'));
    await expect(auth0.emailTemplates.update('welcome_email', { enabled: true })).rejects.toEqual(refusal(404));
    const template = {
      template: 'welcome_email' as const,
      body: html('<p>{{ application.name }}</p>'),
      from: 'Acme <hello@acme.example>',
      subject: 'Hello',
      syntax: 'liquid',
      resultUrl: 'https://acme.example/',
      urlLifetimeInSeconds: 600,
      includeEmailInRedirect: false,
      enabled: false,
    };
    expect(await auth0.emailTemplates.create(template)).toEqual(template);
    await expect(auth0.emailTemplates.create(template)).rejects.toEqual(refusal(409));
    expect(await auth0.emailTemplates.update('welcome_email', { subject: 'Hi' })).toEqual({
      ...template,
      subject: 'Hi',
    });
    const bare = { template: 'welcome_email' as const, subject: 'Hello again' };
    expect(await auth0.emailTemplates.set('welcome_email', bare)).toEqual({
      ...bare,
      body: null,
      from: null,
      resultUrl: null,
      syntax: 'liquid',
      urlLifetimeInSeconds: null,
      includeEmailInRedirect: true,
      enabled: true,
    });
    expect(await auth0.emailTemplates.get('welcome_email')).toMatchObject(bare);
    await expect(clientOf('reader').emailTemplates.update('welcome_email', bare)).rejects.toEqual(refusal(403));
    expect((await ask('GET', 'email-templates/none')).status).toBe(400);
    expect((await ask('PATCH', 'email-templates/welcome_email', { template: 'verify_email' })).status).toBe(400);
  });

  test('are used for mails, with Auth0’s variables, escaped in HTML and kept to one line in headers', async () => {
    await auth0.clients.update('web', { name: 'Shop <i>"x"@evil.example\u2028', client_metadata: { colour: 'green' } });
    await auth0.emailTemplates.create({
      template: 'reset_email',
      body: html(
        '<p>{{ user.email | escape }}|{{ user.email_verified }}|{{ user.name }}|{{ application.name }}|{{ application.clientID }}|{{ application.metadata.colour }}|{{ connection.name }}|{{ request_language }}|{{ friendly_name }}|{{ user.user_metadata.none }}</p><a href="{{ url }}">go</a>',
      ),
      from: '{{ application.name }} <no-reply@acme.example>',
      subject: '{{ application.name }}\r\nBcc: all@evil.example',
    });
    const mail = await passwordMail();
    expect(mail.html).toContain(
      `<p>alice@example.com|true|Alice Example|Shop &#60;i&#62;&#34;x&#34;@evil.example|web|green|${connection}|en|Gatepost|</p>`,
    );
    expect(mail.html).toMatch(/<a href="http\S+change-password\?ticket=[\w-]{43}">/);
    expect(mail.text).toMatch(/change-password\?ticket=/);
    expect(mail.subject).toMatch(/^Shop <i>"x"@evil\.example Bcc: all@evil\.example$/);
    expect(mail.from).toEqual({
      address: 'no-reply@acme.example',
      name: expect.stringMatching(/^Shop\W+i\W+x\W+evil\.example$/),
    });
    expect(mail.bcc).toBeUndefined();
  });

  test.each([
    ['does not parse', '{% if %}'],
    ['reads a file', '{% include "/etc/passwd" %}'],
    ['runs for too long', '{% for i in (1..900000) %}{% for j in (1..900000) %}{% endfor %}{% endfor %}'],
    ['writes too much', '{% for i in (1..100000) %}xxxxxxxxxxxxxxxxxxxx{% endfor %}'],
    ['holds a script', '<script>alert(1)</script>'],
    ['holds a form', '<form action="https://evil.example/"></form>'],
    ['puts a value where it would be code', '<a href={{ url }}>go</a>'],
    ['is a page', '{%- auth0:widget -%}'],
  ])('are refused when the body %s', async (_, body) => {
    await expect(auth0.emailTemplates.update('reset_email', { body })).rejects.toEqual(refusal(400, 'invalid_body'));
  });

  test.each([
    [{ from: 'nobody' }, 'from: it is no address'],
    [{ from: 'Acme, Inc. <no-reply@acme.example>' }, 'from: it is no address'],
    [{ from: '{{ application.name }} <{{ support_email }}>' }, 'from: it is no address'],
    [{ resultUrl: 'myapp://done' }, 'resultUrl: it is no http or https URL'],
    [{ resultUrl: 'myapp://{{ application.name }}' }, 'resultUrl: it is no http or https URL'],
    [{ resultUrl: 'done' }, 'resultUrl: it is no http or https URL'],
  ])('are refused with %j, which no mail could use', async (given, message) => {
    expect(await ask('PATCH', 'email-templates/reset_email', given)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(message) },
    });
  });

  test.each([
    '{{ application.callback_domain }}/done',
    '{{ client.metadata.after }}',
    'http://localhost:3000/?a={{ client.name }}',
  ])('may lead on to %s', async (resultUrl) => {
    expect((await ask('PATCH', 'email-templates/reset_email', { resultUrl })).status).toBe(200);
    await ask('PATCH', 'email-templates/reset_email', { resultUrl: null });
  });

  test('may have a comma in the sender’s quoted name', async () => {
    const from = '"Acme, Inc." <no-reply@acme.example>';
    await auth0.emailTemplates.update('reset_email', { from });
    const mail = await passwordMail('alice@example.com');
    expect(mail.from).toEqual({ name: 'Acme, Inc.', address: 'no-reply@acme.example' });
  });

  test('that fail when a mail is sent are replaced by our own text', async () => {
    const body = html(
      '{% if user.email %}{% for i in (1..900000) %}{% for j in (1..900000) %}{% endfor %}{% endfor %}{% endif %}',
    );
    await auth0.emailTemplates.update('reset_email', {
      body,
      subject: 'Theirs',
      from: '{% if user.email %}nobody{% endif %}',
    });
    const mail = await passwordMail('bob@example.com');
    expect(mail).toMatchObject({ subject: 'Theirs', from: { address: 'no-reply@localhost' } });
    expect(mail.html).toContain('Choose a new password');
  });

  test('can be previewed with a sample person, in a frame only', async () => {
    const at = 'email-templates/verify_email/previews';
    expect(await ask('POST', at, {})).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('no web origin') },
    });
    await auth0.clients.update('manager', { web_origins: ['https://console.example'] });
    // What is remembered of a caller's client is forgotten with the notification of the change.
    const ours = await until('a preview', async () => {
      const answer = await ask('POST', at, { ui_locales: 'de' });
      return answer.status === 201 && answer;
    });
    expect(ours).toMatchObject({
      body: { subject: 'Bestätigen Sie Ihre E-Mail-Adresse', text: expect.stringContaining('jane@example.com') },
    });
    const body = html('<p>{{ user.name }}</p><a href="{{ url }}">go</a>');
    const own = await ask('POST', at, { body, subject: 'Hello {{ user.given_name }}', from: 'Acme <hi@acme.example>' });
    expect(own.body).toMatchObject({ subject: 'Hello Jane', from: 'Acme <hi@acme.example>' });
    const shown = (url: string) => gate.get(url.slice(gate.issuer.length), { 'sec-fetch-dest': 'iframe' });
    const { text, headers } = await shown(own.body.url);
    expect(text).toContain('<p>Jane Example</p>');
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; .*frame-ancestors https:\/\/console\.example; sandbox$/,
    );
    expect((await shown(ours.body.url)).text).toContain('<html lang="de">');
    await auth0.emailTemplates.create({ template: 'verify_email', body, subject: 'Saved', from: null });
    expect((await ask('POST', at, {})).body).toMatchObject({ subject: 'Saved' });
    expect((await ask('POST', at, { subject: null })).body).toMatchObject({ subject: 'Confirm your email address' });
    const defaults = { body: null, subject: null, from: null };
    for (const [name, lifetime] of [
      ['reset_email', '1 hour'],
      ['verify_email', '5 days'],
      ['user_invitation', '7 days'],
    ])
      expect((await ask('POST', `email-templates/${name}/previews`, defaults)).body.text).toContain(
        `within ${lifetime}`,
      );
    for (const [path, wrong, message] of [
      [at, { body: '<script>alert(1)</script>' }, 'script'],
      [at, { from: 'nobody' }, 'from: it is no address'],
      ['email-templates/change_password/previews', {}, 'is never sent'],
    ] as const)
      expect(await ask('POST', path, wrong)).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining(message) },
      });
  });

  test('decide how long an invitation is valid that does not say so itself', async () => {
    await ask('PATCH', 'clients/spa', { organization_usage: 'allow', initiate_login_uri: 'https://app.example/login' });
    const { id = '' } = await auth0.organizations.create({ name: 'orchard' });
    const email = 'guest@example.com';
    const hoursOf = async (more: object = {}) => {
      const invited = { inviter: { name: 'Alice' }, invitee: { email }, client_id: 'spa', ...more };
      const { created_at = '', expires_at = '' } = await auth0.organizations.invitations.create(id, invited);
      return Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 3_600_000);
    };
    const silently = { send_invitation_email: false };
    expect(await hoursOf(silently)).toBe(168);
    const template = { template: 'user_invitation' as const, urlLifetimeInSeconds: 7_200 };
    await auth0.emailTemplates.create(template);
    expect(await hoursOf({ ...silently, ttl_sec: 18_000 })).toBe(5);
    expect(await hoursOf({ ttl_sec: 0 })).toBe(2);
    expect((await gate.mailTo(email)).text).toContain('within 2 hours');
    await auth0.emailTemplates.update('user_invitation', { enabled: false });
    expect(await hoursOf(silently)).toBe(168);
  });
});
