/** The developer's mailbox on the ops port. */
import { request as httpRequest } from 'node:http';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { hasMailbox, openMailbox } from '../src/mail/mailbox.ts';
import { openGate } from './gate.ts';
import { fullSeed } from './seeds.ts';
import { openSmtpReceiver } from './smtp-receiver.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const gate = stack.use(await openGate(fullSeed));
const get = async (path: string, from = gate) => {
  const answer = await fetch(`${from.opsUrl}${path}`);
  return { status: answer.status, html: await answer.text(), policy: answer.headers.get('content-security-policy') };
};

test('the mailbox lists sent mails, shows each as text and as HTML, and its links work', async () => {
  expect((await get('/mailbox')).html).toContain('Nothing has been sent since the gate started');
  const connection = 'Username-Password-Authentication';
  await gate.post('dbconnections/change_password', { client_id: 'web', connection, email: 'alice@example.com' });
  await gate.post('passwordless/start', { client_id: 'web', connection: 'sms', phone_number: '+15555550100' });
  const [, path] = await until('the mail', async () =>
    /<a href="(\/mailbox\/[\w-]+)">Change your Web App password/.exec((await get('/mailbox')).html),
  );
  const mail = await get(path!);
  const [, link] = /<a href="(http[^"]+change-password\?ticket=[\w-]{43})"/.exec(mail.html)!;
  expect((await fetch(link!)).status).toBe(200);
  const html = await get(`${path}/html`);
  expect(html.html).toContain(`href="${link}"`);
  expect(html.html).toContain('<base target="_blank">');
  for (const { policy } of [mail, html]) expect(policy).toContain("default-src 'none'");
  expect(html.policy).toContain('sandbox');
  await until('the text message', async () => (await get('/mailbox')).html.includes('+15555550100'));
});

test('the mailbox is closed to other sites: under another host name and for methods other than GET', async () => {
  const ask = (headers: Record<string, string>, method = 'GET') =>
    new Promise<number>((resolve, reject) => {
      httpRequest(`${gate.opsUrl}/mailbox`, { method, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      })
        .on('error', reject)
        .end();
    });
  expect(await ask({ host: 'localhost:4401' })).toBe(200);
  expect(await ask({ host: 'rebound.evil.example:4401' })).toBe(404);
  expect(await ask({}, 'POST')).toBe(404);
});

test('the mailbox does not exist where mail is really sent', async () => {
  await using smtp = await openSmtpReceiver();
  await using sending = await openGate(fullSeed, { MAIL_URL: smtp.url });
  expect((await get('/mailbox', sending)).status).toBe(404);
});

test.each([
  ['a developer’s machine', {}, true],
  ['the same at the port with TLS', { ISSUER: 'https://localhost:4443/' }, true],
  ['production', { NODE_ENV: 'production' }, false],
  ['a mail server', { MAIL_URL: 'smtp://mail.example.com' }, false],
  ['an issuer that others reach', { ISSUER: 'https://login.example.com/' }, false],
  ['a listener that others reach', { HOST: '0.0.0.0' }, false],
])('whether the mailbox exists for %p: %p', (_, change, expected) => {
  const env = {
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    ISSUER: 'http://localhost:4400/',
    MAIL_URL: 'file:///tmp/',
  };
  expect(hasMailbox({ ...env, ...change })).toBe(expected);
});

test('the mailbox keeps the last hundred messages, and lists each on one line with its whole link', async () => {
  const lines: string[] = [];
  const mailbox = openMailbox((line) => lines.push(line));
  const none = async () => {};
  const postBox = mailbox.around({ sendMail: none, sendText: none, close: () => {} });
  const link = `http://localhost:4400/change-password?ticket=${'x'.repeat(300)}`;
  for (let sent = 0; sent < 120; sent += 1)
    await postBox.sendMail({ to: 'a@example.com', subject: `No.\n${sent}`, text: `Open\n\n${link}\n\nsoon` });
  expect(lines[119]).toBe(`a@example.com  No. 119  ${link}`);
  const shown: string[] = [];
  const response = { writeHead: () => ({ end: (html: string) => shown.push(html) }) };
  const request = { url: '/mailbox', method: 'GET', headers: { host: 'localhost' }, socket: { remoteAddress: '::1' } };
  mailbox.answer(request as never, response as never);
  expect(shown[0]!.match(/<a href/g)).toHaveLength(100);
});
