/** Guesses at people: what is counted together, what is not, and what the log says of it. Addresses are named by a trusted proxy. */
import { Browser } from '@gatepost/testkit/browser';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { type Answer, linkIn } from '../gate.ts';
import { callback, codeGrant, openTarget, password, passwordGrant } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const log = openLogLines();
const erin = { user_id: 'auth0|erin', email: 'erin@example.com', password };
const target = stack.use(await openTarget({ TRUSTED_PROXIES: '127.0.0.0/8' }, { log, users: [erin] }));
const { gate } = target;

type Form = Record<string, string>;
const from = (address: string) => ({ 'x-forwarded-for': address });
const grant = (address: string, form: Form = {}, at = gate) => passwordGrant(at, form, from(address));
const wrong = (address: string, username: string, at = gate) => grant(address, { username, password: 'wrong' }, at);
const otp = (address: string, code: string, username: string, realm = 'email') =>
  codeGrant(gate, { otp: code, username, realm }, from(address));
const verify = (address: string, verification_code: string, email: string) =>
  gate.post(
    'passwordless/verify',
    { client_id: 'native', connection: 'email', email, verification_code },
    from(address),
  );
const times = async <T>(count: number, work: (index: number) => Promise<T>) => {
  const answers: T[] = [];
  for (let index = 0; index < count; index += 1) answers.push(await work(index));
  return answers;
};
const statusesOf = (answers: Pick<Answer, 'status'>[]) => answers.map(({ status }) => status);
/** A browser whose every request comes from one address. */
const browserAt = (address: string) =>
  new (class extends Browser {
    override get = (path: string) => super.get(path, from(address));
    override post = (path: string, fields: Form) => super.post(path, fields, from(address));
  })(gate);
const asked = { client_id: 'spa', redirect_uri: callback, response_type: 'id_token', scope: 'openid', nonce: 'n' };
/** The page that asks for the password. */
const passwordPage = async (browser: Browser, identifier: string, first?: ReturnType<Browser['get']>) =>
  browser.submit(await (first ?? browser.authorize(asked)), { identifier });

test('all spellings of one account, its address and its number share ten failures', async () => {
  const spellings = [
    '+1-555-555-0100',
    '+1--5555550100',
    '+1 (555) 555.0100',
    'alice@example.com',
    ' ALICE@example.com',
  ];
  // Each spelling had ten tries of its own.
  const answers = await times(11, (index) => wrong('192.0.2.1', spellings[index % spellings.length]!));
  expect(statusesOf(answers)).toEqual([...Array(10).fill(400), 429]);
  expect(answers[10]).toMatchObject({ json: { error: 'too_many_attempts' } });
  expect(Number(answers[10]!.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await grant('192.0.2.1')).status).toBe(429);
  expect((await grant('192.0.2.2')).status).toBe(200);
});

test('an unknown login is counted in the same way', async () => {
  const spellings = ['+1-555-555-0999', '+1--5555550999', '+15555550999'];
  const numbers = await times(11, (index) => wrong('192.0.2.3', spellings[index % 3]!));
  expect(statusesOf(numbers)).toEqual([...Array(10).fill(400), 429]);
  const names = await times(11, (index) => wrong('192.0.2.3', index % 2 ? 'NoBody' : 'nobody '));
  expect(statusesOf(names)).toEqual([...Array(10).fill(400), 429]);
});

test('all addresses of an IPv6 /64 share ten failures', async () => {
  const answers = await times(11, (index) => wrong(`2001:db8:1:2::${index + 1}`, 'bob@example.com'));
  expect(statusesOf(answers)).toEqual([...Array(10).fill(400), 429]);
  expect((await grant('2001:db8:1:2:ffff::1', { username: 'bob@example.com' })).status).toBe(429);
  expect((await grant('2001:db8:1:3::1', { username: 'bob@example.com' })).status).toBe(200);
});

test('all entry points count together: page, password grant, passwordless grant, verify and device page', async () => {
  const address = '192.0.2.4';
  const browser = browserAt(address);
  let page = await passwordPage(browser, 'alice@example.com');
  page = await browser.submit(page, { password: 'wrong' });
  expect(page.status).toBe(400);
  await browser.submit(page, { password: 'wrong' });
  await times(2, () => wrong(address, '+15555550100'));
  await times(2, () => otp(address, '000000', 'alice@example.com'));
  await times(2, () => verify(address, '000000', 'Alice@example.com'));
  const { json: device } = await gate.post('oauth/device/code', { client_id: 'native', scope: 'openid' });
  const television = browserAt(address);
  const confirm = await television.submit(await television.get('activate'), { user_code: device.user_code as string });
  let login = await television.submit(confirm, { confirm: 'yes' });
  login = await television.submit(login, { identifier: 'alice@example.com' });
  for (const _ of [1, 2]) login = await television.submit(login, { password: 'wrong' });
  expect(login.status).toBe(400);

  const closed = await television.submit(login, { password });
  expect([closed.status, Number(closed.headers.get('retry-after')) > 0]).toEqual([429, true]);
  expect((await browser.submit(page, { password })).status).toBe(429);
  expect((await grant(address)).status).toBe(429);
  expect((await otp(address, '000000', 'alice@example.com')).json.error).toBe('too_many_attempts');
  expect(await verify(address, '000000', 'alice@example.com')).toMatchObject({
    status: 429,
    json: { error: 'too_many_attempts' },
  });
  expect((await grant('192.0.2.5')).status).toBe(200);
});

test('sixteen concurrent right passwords of one person all succeed, also after nine wrong ones', async () => {
  // Tries in flight used to count as failures.
  const sixteen = () => Promise.all(Array.from({ length: 16 }, () => grant('192.0.2.6')));
  expect(statusesOf(await sixteen())).toEqual(Array(16).fill(200));
  await times(9, () => wrong('192.0.2.6', 'alice@example.com'));
  expect(statusesOf(await sixteen())).toEqual(Array(16).fill(200));
});

test('parallel guesses get no more tries than serial ones, also through two processes', async () => {
  const { DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX, TRUSTED_PROXIES } = gate.env as Form;
  await using other = await openTarget({ DATABASE_URL, SECRETS_KEY, REDIS_KEY_PREFIX, TRUSTED_PROXIES } as Form);
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      wrong('192.0.2.7', 'bob@example.com', index % 2 === 0 ? gate : other.gate),
    ),
  );
  expect(statusesOf(answers).sort()).toEqual([...Array(10).fill(400), ...Array(14).fill(429)]);
});

test('a success clears the failures of its own account and network, and no others', async () => {
  for (const address of ['192.0.2.8', '192.0.2.9']) await times(9, () => wrong(address, 'bob@example.com'));
  expect((await grant('192.0.2.8', { username: '+15555550101' })).status).toBe(200);
  expect(statusesOf(await times(2, () => wrong('192.0.2.8', 'bob@example.com')))).toEqual([400, 400]);
  expect(statusesOf(await times(2, () => wrong('192.0.2.9', 'bob@example.com')))).toEqual([400, 429]);
});

test('a new password from a mailed link ends the lockout only for its account and the network where it was set', async () => {
  const [own, other] = ['192.0.2.11', '192.0.2.12'];
  for (const address of [own, other]) await times(10, () => wrong(address, erin.email));
  expect((await grant(own, { username: erin.email })).status).toBe(429);
  await gate.post(
    'dbconnections/change_password',
    { client_id: 'spa', connection: 'Username-Password-Authentication', email: erin.email },
    from(own),
  );
  const browser = browserAt(own);
  const form = await browser.get(linkIn(await gate.mailTo(erin.email)));
  // What is refused opens nothing.
  expect((await browser.submit(form, { password: 'short' })).status).toBe(400);
  expect((await grant(own, { username: erin.email })).status).toBe(429);
  await browser.submit(form, { password: 'another set of words' });
  expect((await grant(own, { username: erin.email, password: 'another set of words' })).status).toBe(200);
  expect((await grant(other, { username: erin.email, password: 'another set of words' })).status).toBe(429);
});

test('device codes can be guessed ten times from one network and ten times in one session, without affecting others', async () => {
  const { json: device } = await gate.post('oauth/device/code', { client_id: 'native', scope: 'openid' });
  const user_code = device.user_code as string;
  const enter = async (address: string, code: string) => {
    const browser = browserAt(address);
    return browser.submit(await browser.get('activate'), { user_code: code });
  };
  // In parallel, and each with a session of its own.
  const guesses = await Promise.all(Array.from({ length: 12 }, () => enter('2001:db8:5:5::1', 'BBBB-BBBB')));
  expect(statusesOf(guesses).sort()).toEqual([...Array(10).fill(400), 429, 429]);
  const refused = await enter('2001:db8:5:5::2', user_code);
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  const shouting = browserAt('2001:db8:5:5::3');
  const fields = { ...(await shouting.get('activate')).forms[0]!.fields, user_code };
  for (const path of ['ACTIVATE', 'activate/', 'Activate?x'])
    expect((await shouting.post(path, fields)).status).toBe(429);

  const roaming = browserAt('192.0.2.20');
  const form = await roaming.get('activate');
  const everywhere = await times(11, async (index) =>
    Browser.prototype.post.call(
      roaming,
      'activate',
      { ...form.forms[0]!.fields, user_code: 'BBBB-BBBB' },
      from(`192.0.2.${30 + index}`),
    ),
  );
  expect(statusesOf(everywhere)).toEqual([...Array(10).fill(400), 429]);

  const confirm = await enter('192.0.2.21', user_code);
  expect([confirm.status, confirm.html.includes(user_code)]).toEqual([200, true]);
});

test('the log identifies a failed login by the id of a known account, or else by a keyed hash', async () => {
  const address = '192.0.2.10';
  await wrong(address, '+1-555-555-0101');
  await wrong(address, 'hunter2 in the wrong field');
  await wrong(address, 'hunter2 in the WRONG field ');
  await otp(address, '000000', 'bob@example.com');
  const rows = await until('the rows', async () => {
    const { rows: found } = await gate.pool.query(
      'SELECT type, user_id, details FROM auth.logs WHERE ip = $1 ORDER BY id',
      [address],
    );
    return found.length === 4 && found;
  });
  expect(rows.map(({ type, user_id }) => [type, user_id])).toEqual([
    ['fp', 'auth0|bob'],
    ['fu', null],
    ['fu', null],
    ['f', 'auth0|bob'],
  ]);
  expect(rows[1].details.login_hash).toMatch(/^[\w-]{43}$/);
  expect(rows[2].details.login_hash).toBe(rows[1].details.login_hash);
  const failed = log.lines.filter(({ message }) => message === 'a login failed').slice(-4);
  expect(failed.map((line) => line['user.id'] ?? line.login_hash)).toEqual(
    rows.map(({ user_id, details }) => user_id ?? details.login_hash),
  );
  expect(JSON.stringify([rows, log.lines])).not.toContain('hunter2');
});
