/** Addresses that people confirm by mail: after they have signed up, and by links and jobs of the management API, through the `auth0` package. */
import { Browser } from '@gatepost/testkit/browser';
import { redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { linkIn } from './gate.ts';
import { openManagement, refusal } from './management/target.ts';
import { spaRequest as request } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const { gate, auth0, clientOf } = stack.use(await openManagement());
const connection = 'Username-Password-Authentication';
const password = 'four unrelated words here';
const userBy = async (email: string) => (await auth0.users.listUsersByEmail({ email }))[0]!;
let people = 0;
async function somebody(more: object = {}) {
  const email = `person-${++people}@example.com`;
  const { user_id = '' } = await auth0.users.create({ connection, email, password, ...more });
  return { email, user_id };
}
/** The API is asked at the port with TLS, and names its links by that. */
const browserAt = (link: string) => new Browser({ issuer: `${new URL(link).origin}/` });
const confirm = async (link: string) => {
  const browser = browserAt(link);
  return browser.submit(await browser.get(link));
};

describe('verification at sign-up', () => {
  test('sends a mail whose page confirms by a form and leads on, in the language of the sign-up', async () => {
    const browser = new Browser(gate);
    const first = await browser.authorize({ ...request, ui_locales: 'de' });
    const form = await browser.get(`${new URL(first.url).pathname}/signup`);
    await browser.submit(form, { email: 'carla@example.com', password });
    const { subject, text, html } = await gate.mailTo('carla@example.com');
    expect(subject).toBe('Bestätigen Sie Ihre E-Mail-Adresse');
    const link = linkIn({ text });
    expect(html).toContain(link);

    const reader = new Browser(gate);
    const page = await reader.get(link);
    expect(page.html).toContain('Ist das Ihre Adresse?');
    expect(page.html).toContain('carla@example.com');
    // A scanner that opens the link confirms nothing.
    expect(await userBy('carla@example.com')).toMatchObject({ email_verified: false });
    const done = await reader.submit(page);
    expect(done).toMatchObject({ status: 200, html: expect.stringContaining('Adresse bestätigt') });
    expect(done.html).toContain('href="https://app.example/"');
    expect(done.url).toContain('/email-verification/done');
    expect(await userBy('carla@example.com')).toMatchObject({ email_verified: true });
    // Whoever opens it again finds the same page, without the address.
    const again = await new Browser(gate).get(link);
    expect(again.html).toContain('Adresse bestätigt');
    expect(again.html).not.toContain('carla@example.com');
  });

  test('is sent for a sign-up by the API too, but not for a taken address', async () => {
    const form = { client_id: 'spa', connection, email: 'dora@example.com', password };
    expect((await gate.post('dbconnections/signup', form, { 'accept-language': 'fr' })).status).toBe(200);
    expect((await gate.mailTo('dora@example.com')).subject).toBe('Confirmez votre adresse e-mail');
    expect((await gate.post('dbconnections/signup', form)).status).toBe(400);
    await gate.post('dbconnections/signup', { ...form, email: 'ella@example.com' });
    await gate.mailTo('ella@example.com');
    expect(await gate.mails('dora@example.com')).toHaveLength(1);
  });

  // It said that the link had expired, and offered another one, which was never sent.
  test('a link that was used days ago, and would still work, leads to the page that the address is confirmed', async () => {
    const { user_id } = await somebody();
    const { ticket } = await auth0.tickets.verifyEmail({ user_id, ttl_sec: 20 * 86_400 });
    await confirm(ticket);
    const redis = stack.adopt(new Redis(redisUrl()), (opened) => void opened.disconnect());
    const kept = await redis.keys(`${gate.redisPrefix}*past-verification-ticket:*`);
    for (const key of kept) await redis.expire(key, (await redis.ttl(key)) - 3 * 86_400);
    expect((await browserAt(ticket).get(ticket)).html).toContain('Email address confirmed');
  });

  test('an expired link says so and sends another one, and a wrong one leads nowhere', async () => {
    const { email, user_id } = await somebody();
    const { ticket } = await auth0.tickets.verifyEmail({ user_id, ttl_sec: 1 });
    const browser = browserAt(ticket);
    const page = await until('the end of the link', async () => {
      const got = await browser.get(ticket);
      return got.status === 400 && got;
    });
    expect(page.html).toContain('This link has expired');
    expect(page.html).not.toContain(email);
    const sent = await browser.submit(page);
    expect(sent.html).toContain('we have sent a new link');
    expect((await confirm(linkIn(await gate.mailTo(email)))).html).toContain('Email address confirmed');
    expect(await browser.get('email-verification?ticket=none')).toMatchObject({ status: 400 });
  });
});

describe('a verification template', () => {
  test('sets how long the link works and where it ends, and a welcome template greets the person', async () => {
    await auth0.emailTemplates.create({
      template: 'verify_email',
      resultUrl: '{{ application.callback_domain }}/done?a=b#c',
      urlLifetimeInSeconds: 3_600,
    });
    await auth0.emailTemplates.create({ template: 'welcome_email', subject: 'Hello {{ user.email }}' });
    const email = 'fred@example.com';
    await gate.post('dbconnections/signup', { client_id: 'spa', connection, email, password });
    const { text } = await gate.mailTo(email);
    expect(text).toContain('within 1 hour');
    const result = (await confirm(linkIn({ text }))).location!;
    expect(result.href).toBe(
      'https://app.example/done?a=b&supportSignUp=true&supportForgotPassword=true&email=fred%40example.com&message=Your%20email%20was%20verified.%20You%20can%20continue%20using%20the%20application.&success=true&code=success#c',
    );
    expect((await gate.mailTo(email, 1)).subject).toBe(`Hello ${email}`);
    const used = (await new Browser(gate).get(linkIn({ text }))).location!;
    expect(Object.fromEntries(used.searchParams)).toMatchObject({
      success: 'false',
      message: 'This URL can be used only once',
    });
    expect(used.searchParams.has('email')).toBe(false);

    await auth0.emailTemplates.update('verify_email', { enabled: false });
    await gate.post('dbconnections/signup', { client_id: 'spa', connection, email: 'gina@example.com', password });
    expect((await gate.mailTo('gina@example.com')).subject).toBe('Hello gina@example.com');
    const { user_id } = await somebody();
    await expect(auth0.jobs.verificationEmail.create({ user_id })).rejects.toEqual(refusal(400, 'template_disabled'));

    // A native application listens on this machine only while it waits for a login.
    await auth0.emailTemplates.update('welcome_email', { body: 'Start at {{ url }}.' });
    const starts = async (application: Parameters<typeof auth0.clients.create>[0], person: string) => {
      const { client_id = '' } = await auth0.clients.create(application);
      await gate.post('dbconnections/signup', { client_id, connection, email: person, password });
      return (await gate.mailTo(person)).html;
    };
    const callbacks = ['http://127.0.0.1/callback', 'https://app.example/callback'];
    const near = { name: 'Near', app_type: 'native' as const, callbacks: callbacks.slice(0, 1) };
    const far = { name: 'Far', app_type: 'native' as const, callbacks };
    const own = { name: 'Own', initiate_login_uri: 'https://app.example/start', callbacks };
    expect(await starts(near, 'hal@example.com')).toContain('Start at .');
    expect(await starts(far, 'ida@example.com')).toContain('Start at https://app.example/.');
    expect(await starts(own, 'joe@example.com')).toContain('Start at https://app.example/start.');
    await auth0.emailTemplates.update('verify_email', { enabled: true, resultUrl: null });
    await auth0.emailTemplates.update('welcome_email', { enabled: false });
  });
});

describe('verification by the management API', () => {
  test('sends a verification mail as a job, in the language of the account', async () => {
    const { email, user_id } = await somebody({ user_metadata: { lang: 'pt-BR' } });
    const job = await auth0.jobs.verificationEmail.create({ user_id, client_id: 'web' });
    expect(job).toEqual({
      id: expect.stringMatching(/^job_/),
      type: 'verification_email',
      status: 'pending',
      created_at: expect.any(String),
    });
    const { subject, text } = await gate.mailTo(email);
    expect(subject).toBe('Confirme o seu endereço de e-mail');
    expect(text).toContain('Web App');
    await until('the end of the job', async () => (await auth0.jobs.get(job.id)).status === 'completed');
    await expect(auth0.jobs.get('job_none')).rejects.toEqual(refusal(404, 'inexistent_job'));
    await expect(auth0.jobs.verificationEmail.create({ user_id: 'auth0|none' })).rejects.toEqual(
      refusal(404, 'inexistent_user'),
    );
    const made = await somebody({ verify_email: true });
    expect(linkIn(await gate.mailTo(made.email))).toContain('/email-verification?ticket=');
  });

  test('creates links that confirm an address, and return where the ticket says', async () => {
    const { email, user_id } = await somebody();
    const { ticket } = await auth0.tickets.verifyEmail({
      user_id,
      result_url: 'http://localhost:3000/cb',
      includeEmailInRedirect: false,
    });
    const { location } = await confirm(ticket);
    expect(location!.origin).toBe('http://localhost:3000');
    expect(location!.searchParams.get('success')).toBe('true');
    expect(location!.searchParams.has('email')).toBe(false);
    expect(await userBy(email)).toMatchObject({ email_verified: true });
    for (const result_url of ['javascript:alert(1)', '/home', 'data:text/html,x'])
      await expect(auth0.tickets.verifyEmail({ user_id, result_url })).rejects.toEqual(refusal(400, 'invalid_body'));
    const both = { user_id, result_url: 'https://app.example/', client_id: 'web' };
    await expect(auth0.tickets.verifyEmail(both)).rejects.toEqual(refusal(400, 'invalid_body'));
    await expect(auth0.tickets.verifyEmail({ user_id: 'auth0|none' })).rejects.toEqual(refusal(404, 'inexistent_user'));
    await expect(clientOf('reader').tickets.verifyEmail({ user_id })).rejects.toEqual(
      refusal(403, 'insufficient_scope'),
    );
    const identity = { provider: 'auth0' as const, user_id: user_id.slice('auth0|'.length) };
    expect((await auth0.tickets.verifyEmail({ user_id, identity })).ticket).toContain('ticket=');
    await expect(auth0.tickets.verifyEmail({ user_id, identity: { ...identity, user_id: 'other' } })).rejects.toEqual(
      refusal(404, 'inexistent_identity'),
    );
  });

  test('creates links for a new password, by user or by address and connection', async () => {
    const { email, user_id } = await somebody();
    const change = async (link: string) => {
      const browser = browserAt(link);
      return browser.submit(await browser.get(link), { password: 'another set of words' });
    };
    const first = await auth0.tickets.changePassword({ user_id, result_url: 'https://app.example/in', ttl_sec: 60 });
    const { location } = await change(first.ticket);
    expect(Object.fromEntries(location!.searchParams)).toMatchObject({ email, success: 'true' });
    // We did not mail it, so it proves nothing about the mailbox.
    expect(await userBy(email)).toMatchObject({ email_verified: false });
    const connection_id = (await auth0.connections.list({ name: connection })).data[0]!.id!;
    const second = await auth0.tickets.changePassword({ email, connection_id, mark_email_as_verified: true });
    expect((await change(second.ticket)).html).toContain('Password changed');
    expect(await userBy(email)).toMatchObject({ email_verified: true });
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.authorize(request), email, 'another set of words');
    expect(page.location!.hash).toContain('id_token');

    await expect(auth0.tickets.changePassword({ email })).rejects.toEqual(refusal(400, 'invalid_body'));
    await expect(auth0.tickets.changePassword({ user_id, email, connection_id })).rejects.toEqual(
      refusal(400, 'invalid_body'),
    );
    await expect(auth0.tickets.changePassword({ email: 'nobody@example.com', connection_id })).rejects.toEqual(
      refusal(404, 'inexistent_user'),
    );
    await expect(auth0.tickets.changePassword({ email, connection_id: 'con_none' })).rejects.toEqual(
      refusal(404, 'inexistent_connection'),
    );
    const { user_id: passwordless } = await auth0.users.create({ connection: 'email', email: 'hugo@example.com' });
    await expect(auth0.tickets.changePassword({ user_id: passwordless! })).rejects.toEqual(
      refusal(400, 'operation_not_supported'),
    );
  });
});
