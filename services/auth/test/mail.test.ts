/** The mails that people get: in their language, as HTML and text, with the application's name and logo; through a real mail server. */
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser } from '@gatepost/testkit/browser';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { managementApi } from '../src/resources/management-api.ts';
import { openGate } from './gate.ts';
import { managerSeed, openManager } from './manager.ts';
import { fullSeed, spaRequest as request } from './seeds.ts';
import { openSmtpReceiver } from './smtp-receiver.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const smtp = stack.use(await openSmtpReceiver());
/** In front of it: while it hangs, it accepts connections and says nothing; while it is shut, it ends them. */
const door = { is: 'open' as 'open' | 'hanging' | 'shut', held: [] as Socket[] };
const doorkeeper = createTcpServer((socket) => {
  if (door.is === 'hanging') door.held.push(socket.on('error', () => {}).resume());
  else if (door.is === 'shut') socket.destroy();
  else socket.pipe(connect(Number(new URL(smtp.url).port), '127.0.0.1')).pipe(socket);
});
await new Promise<void>((resolve) => doorkeeper.listen(0, '127.0.0.1', resolve));
stack.defer(() => void doorkeeper.close());
const allScopes = managementApi('').scopes.map(({ value }) => value);
const log = openLogLines();
/** A provider of text messages, and what was posted to it. */
const texts = { port: 0, posted: [] as { authorization: string | undefined; form: Record<string, string> }[] };
const provider = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
  texts.posted.push({ authorization: request.headers.authorization, form });
  response.writeHead(201).end();
});
await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
stack.defer(() => void provider.close());
texts.port = (provider.address() as AddressInfo).port;
const logo_uri = 'https://app.example/logo.png';
const gate = stack.use(
  await openGate(
    {
      ...fullSeed,
      clients: [...fullSeed.clients, managerSeed(allScopes)],
    },
    {
      MAIL_URL: `smtp://127.0.0.1:${(doorkeeper.address() as AddressInfo).port}`,
      MAIL_FROM: 'Acme <no-reply@acme.example>',
      SMS_URL: `http://AC1:sms-secret@127.0.0.1:${texts.port}/Messages.json`,
      SMS_FROM: '+15550001111',
      OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8',
    },
    log,
  ),
);
const manage = await openManager(gate);
beforeAll(async () => {
  await manage('PATCH', 'tenants/settings', { friendly_name: 'Acme' });
  await manage('PATCH', 'clients/spa', { name: 'Shop <b>& Co</b>', logo_uri });
});

const connection = 'Username-Password-Authentication';
/** Whatever a mail would load, and wherever it leads. */
const addresses = (html = '') =>
  [...html.matchAll(/(?:src|href|url|background)\s*[=(]\s*["']?([^"')\s>]+)/gi)].map(([, url]) => url!);

describe('a mail', () => {
  test('has an HTML and a text part, names the application with its logo, and loads nothing else', async () => {
    const browser = new Browser(gate);
    await browser.submit(await browser.authorize({ ...request, connection: 'email' }), {
      identifier: 'alice@example.com',
    });
    const { subject, from, html, text } = await smtp.mailTo('alice@example.com');
    expect(from).toEqual({ name: 'Acme', address: 'no-reply@acme.example' });
    expect(subject).toBe('Your Shop <b>& Co</b> code');
    expect(text).toMatch(/^Your Shop <b>& Co<\/b> code is \d{6}\. It is valid for 3 minutes\./);
    expect(html).toContain('Shop &lt;b&gt;&amp; Co&lt;/b&gt;');
    expect(html).not.toContain('<b>');
    expect(html).toContain(/code is (\d{6})/.exec(text!)![1]!);
    expect(addresses(html)).toEqual([logo_uri]);
  });

  test.each([
    ['of the page', { ui_locales: 'de' }, 'fr', 'Ihr Code für'],
    ['of the browser', {}, 'fr-CA,en;q=0.5', 'Votre code'],
  ])('is written in the language %s', async (_, params, acceptLanguage, words) => {
    const email = `${acceptLanguage.slice(0, 2)}-${Object.keys(params).length}@example.com`;
    const browser = new Browser(gate);
    const page = await browser.authorize({ ...request, ...params, connection: 'email' });
    const { action, fields } = page.forms[0]!;
    await browser.post(
      new URL(action, page.url).href,
      { ...fields, identifier: email },
      { 'accept-language': acceptLanguage },
    );
    const { subject, text, html } = await smtp.mailTo(email);
    for (const part of [subject, text, html]) expect(part).toContain(words);
  });

  test('sent by an API call is in the language of the page behind it, else of the account', async () => {
    const email = 'emil@example.com';
    await manage('POST', 'users', { connection, email, password: 'four words of his', user_metadata: { lang: 'es' } });
    const ask = (headers: Record<string, string>) =>
      gate.post('dbconnections/change_password', { client_id: 'spa', connection, email }, headers);
    await ask({ 'x-request-language': 'ja', 'accept-language': 'en' });
    expect((await smtp.mailTo(email)).subject).toBe('Shop <b>& Co</b> のパスワードの変更');
    await ask({});
    const { subject, html, text } = await smtp.mailTo(email, 1);
    expect(subject).toBe('Cambia tu contraseña de Shop <b>& Co</b>');
    const link = /http\S+change-password\?ticket=[\w-]+/.exec(text!)![0];
    expect(addresses(html).filter((url) => url !== logo_uri)).toEqual([link, link]);
  });
});

test('the link in a text message or a mail stays in one piece', async () => {
  await gate.post('passwordless/start', {
    client_id: 'web',
    connection: 'email',
    send: 'link',
    email: 'bob@example.com',
  });
  const { text, html } = await smtp.mailTo('bob@example.com');
  const [link] = /http\S+passwordless\/link\?ticket=[\w-]{43}$/m.exec(text!)!;
  expect(html).toContain(`href="${link}"`);
});

test('a code by text message goes to the provider in the language of the request, and to no log', async () => {
  const sms = { client_id: 'web', connection: 'sms', phone_number: '+15555550100' };
  expect((await gate.post('passwordless/start', sms, { 'x-request-language': 'de' })).status).toBe(200);
  const { authorization, form } = await until('the text message', () => texts.posted[0]);
  expect(authorization).toBe(`Basic ${Buffer.from('AC1:sms-secret').toString('base64')}`);
  expect(form).toEqual({
    To: '+15555550100',
    From: '+15550001111',
    Body: expect.stringMatching(/^Ihr Code für Web App ist \d{6}\. Er gilt 3 Minuten\./),
  });
  expect(JSON.stringify(log.lines)).not.toContain('sms-secret');
});

test('a mail server that hangs holds up no text message, and its mails are sent again soon', async () => {
  door.is = 'hanging';
  const people = Array.from({ length: 20 }, (_, index) => `waits-${index}@example.com`);
  const email = { client_id: 'web', connection: 'email', send: 'code' };
  for (const one of people) expect((await gate.post('passwordless/start', { ...email, email: one })).status).toBe(200);
  // As many as are sent at once.
  await until('the mail server to hang', () => door.held.length === 16);
  // The gate's own patience is a timer of this process, so it ends before this one.
  const impatience = sleep(25_000, 'waits on', { ref: false });
  const sms = { client_id: 'web', connection: 'sms', phone_number: '+15555550123' };
  expect((await gate.post('passwordless/start', sms)).status).toBe(200);
  await until('the text message', () => texts.posted.some(({ form }) => form.To === sms.phone_number));
  expect(door.held.some((socket) => socket.closed)).toBe(false);
  door.is = 'open';
  const givenUp = until('the first connection to end', () => door.held[0]!.closed && 'gives up');
  expect(await Promise.race([givenUp, impatience])).toBe('gives up');
  for (const one of people) await smtp.mailTo(one);
});

test('mails that a mail server did not take count once, however often the gate tried', async () => {
  door.is = 'shut';
  const forgotten = { client_id: 'spa', connection, email: 'bob@example.com' };
  // With four tries each, more than an hour's worth for one network.
  for (let asked = 0; asked < 7; asked += 1)
    expect((await gate.post('dbconnections/change_password', forgotten)).status).toBe(200);
  await until(
    'the gate to give up',
    () => log.lines.filter(({ message }) => message === 'could not send a password mail').length === 7,
  );
  door.is = 'open';
  await gate.post('dbconnections/change_password', forgotten);
  await until('the mail', () => smtp.arrived.some(({ text }) => text?.includes('change-password?ticket=')));
});

test('while too many mails wait people sign up and are logged, and only who asks for a mail is told to try again', async () => {
  const initiate_login_uri = 'https://app.example/login';
  await manage('PATCH', 'clients/spa', { organization_usage: 'allow', initiate_login_uri });
  const { json: organization } = await manage('POST', 'organizations', { name: 'orchard' });
  await manage('POST', 'users', { connection: 'email', email: 'blocked@example.com', user_id: 'blocked' });
  door.is = 'hanging';
  const isFull = () => log.lines.some(({ message }) => String(message).startsWith('too much is waiting to accept'));
  let made = 0;
  const create = async () => {
    made += 1;
    return manage('POST', 'users', { connection: 'email', email: `crowd-${made}@example.com`, verify_email: true });
  };
  while (!isFull())
    for (const { status } of await Promise.all(Array.from({ length: 32 }, create))) expect(status).toBe(201);

  const email = 'late@example.com';
  const answer = await gate.post('dbconnections/signup', {
    client_id: 'spa',
    connection,
    email,
    password: 'correct horse 9 staple',
  });
  expect(answer).toMatchObject({ status: 200, json: { email } });
  const user_id = `auth0|${answer.json._id}`;
  expect((await manage('PATCH', `users/${user_id}`, { nickname: 'late', verify_email: true })).status).toBe(200);
  expect((await manage('POST', 'jobs/verification-email', { user_id })).status).toBe(503);
  // Somebody who may not log in was told that a code had been sent, and so could be told from others.
  await manage('PATCH', 'users/email%7Cblocked', { blocked: true });
  for (const asker of ['crowd-1@example.com', 'blocked@example.com', 'nobody@example.com']) {
    const code = { client_id: 'spa', connection: 'email', email: asker };
    expect([asker, (await gate.post('passwordless/start', code)).status]).toEqual([asker, 503]);
  }
  const invitations = `organizations/${organization.id}/invitations`;
  const invitation = { inviter: { name: 'Alice' }, invitee: { email }, client_id: 'spa' };
  expect((await manage('POST', invitations, invitation)).status).toBe(503);
  expect((await manage('GET', invitations)).json).toEqual([]);
  await until('the sign-up in the log', async () => {
    const { json } = await manage('GET', `users/${user_id}/logs`);
    return json.some(({ type }: { type: string }) => type === 'ss');
  });
  door.is = 'open';
  for (const socket of door.held) socket.destroy();
  expect((await manage('POST', invitations, { ...invitation, send_invitation_email: false })).status).toBe(201);
});
