/** Nobody is kept out by what strangers do. Addresses are named by a trusted proxy. */
import { Browser } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import pg from 'pg';
import { callback, codeGrant, openTarget, passwordGrant } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget({ TRUSTED_PROXIES: '127.0.0.0/8' }));
const { gate } = target;
const database = new pg.Client(gate.databaseUrl);
await database.connect();
stack.defer(() => database.end());
const connection = 'Username-Password-Authentication';

type Form = Record<string, string>;
const from = (address: string) => ({ 'x-forwarded-for': address });
const grant = (address: string, form: Form = {}) => passwordGrant(gate, form, from(address));
const start = (address: string, email: string) =>
  gate.post('passwordless/start', { client_id: 'native', connection: 'email', send: 'code', email }, from(address));
const otp = (address: string, code: string, username: string) =>
  codeGrant(gate, { otp: code, username }, from(address));
const codesTo = async (email: string) =>
  (await gate.outbox()).filter((mail) => mail.includes(email)).map((mail) => /code is (\d+)/.exec(mail)![1]!);
/** What the mail brings that the work asks for. */
const codeOf = async (email: string, work: () => Promise<unknown>) => {
  const before = await codesTo(email);
  await work();
  const [code] = await until('the code', async () => {
    const now = await codesTo(email);
    for (const old of before) now.splice(now.indexOf(old), 1);
    return now.length > 0 && now;
  });
  return code!;
};
const wrongOnes = (code: string, count: number) =>
  Array.from({ length: count }, (_, index) =>
    String((Number(code) + index + 1) % 10 ** code.length).padStart(code.length, '0'),
  );
const asked = {
  client_id: 'spa',
  redirect_uri: callback,
  response_type: 'id_token',
  scope: 'openid',
  nonce: 'n',
  connection: 'email',
};
const askOnPage = async (browser: Browser, identifier: string) =>
  browser.submit(await browser.authorize(asked), { identifier });

test('while eighty sockets guess logins from one address, others log in and machines get tokens', async () => {
  // Of 21 logins two used to succeed.
  let isOver = false;
  const answers: Record<number, number> = {};
  const waits = new Set<string | null>();
  const crowd = Array.from({ length: 80 }, async (_, socket) => {
    for (let round = 0; round < 200 && !isOver; round += 1) {
      const guess = { username: `nobody-${socket}-${round}@example.com`, password: 'wrong' };
      const { status, headers } = await grant('198.51.100.1', guess);
      answers[status] = (answers[status] ?? 0) + 1;
      if (status === 429) waits.add(headers.get('retry-after'));
    }
  });
  try {
    await until('the crowd', () => (answers[429] ?? 0) > 0 && (answers[400] ?? 0) > 0);
    for (let round = 0; round < 3; round += 1) {
      const logins = await Promise.all(
        Array.from({ length: 7 }, (_, index) => grant(`203.0.113.${round * 7 + index}`)),
      );
      expect(logins.map(({ status }) => status)).toEqual(Array(7).fill(200));
    }
    const page = await new Browser(gate).authorize({ ...asked, connection: '' });
    expect(page.status).toBe(200);
    expect((await target.machineToken()).status).toBe(200);
  } finally {
    isOver = true;
    await Promise.all(crowd);
  }
  expect(Object.keys(answers).sort()).toEqual(['400', '429']);
  expect([...waits].every((seconds) => Number(seconds) > 0)).toBe(true);
});

test('a code requested in the owner’s browser survives requests and guesses by others at the same address', async () => {
  const email = 'alice@example.com';
  const owner = new Browser(gate);
  let page!: Awaited<ReturnType<typeof askOnPage>>;
  const code = await codeOf(email, async () => {
    page = await askOnPage(owner, email);
  });
  for (let round = 0; round < 4; round += 1) {
    const stranger = new Browser(gate);
    const form = await askOnPage(stranger, email);
    for (const guess of wrongOnes(code, 3)) await stranger.submit(form, { code: guess });
    await start('127.0.0.1', email);
    for (const guess of wrongOnes(code, 3)) await otp('127.0.0.1', guess, email);
  }
  const done = await owner.submit(page, { code });
  expect(decodeJwt(new URLSearchParams(done.location!.hash.slice(1)).get('id_token')!).sub).toBe('auth0|alice');
});

test('a code requested by an application survives requests and guesses by others at the same application', async () => {
  const email = 'bob@example.com';
  const code = await codeOf(email, () => start('192.0.2.1', email));
  for (let round = 0; round < 4; round += 1) await start('192.0.2.2', email);
  for (const guess of [...wrongOnes(code, 12), code])
    expect((await otp('192.0.2.2', guess, email)).status).not.toBe(200);
  const verify = { client_id: 'native', connection: 'email', email, verification_code: code };
  expect((await gate.post('passwordless/verify', verify, from('192.0.2.2'))).status).toBeGreaterThanOrEqual(400);
  expect((await gate.post('passwordless/verify', verify, from('192.0.2.1'))).status).toBe(200);
  expect((await otp('192.0.2.1', code, email)).status).toBe(200);
});

test('images, frames and forms of another site in the owner’s browser spend neither the code nor its tries', async () => {
  const [email, address] = ['ivan@example.com', '192.0.2.11'];
  const code = await codeOf(email, () => start(address, email));
  const query = { client_id: 'native', connection: 'email', email };
  for (const verification_code of wrongOnes(code, 11)) {
    const path = `passwordless/verify_redirect?${new URLSearchParams({ ...query, verification_code })}`;
    for (const destination of ['image', 'iframe', 'empty'])
      expect((await gate.get(path, { ...from(address), 'sec-fetch-dest': destination })).status).toBe(403);
  }
  // A form or a fetch of a page reaches the API; the page of the application itself is let in.
  const post = (path: string, verification_code: string, origin: string) => {
    const browser = { ...from(address), 'sec-fetch-site': 'cross-site', origin };
    return gate.post(path, { ...query, client_id: 'spa', verification_code }, browser);
  };
  for (const wrong of wrongOnes(code, 11))
    for (const origin of ['https://evil.example', 'null'])
      for (const path of ['passwordless/verify', 'passwordless/start', 'dbconnections/change_password'])
        expect((await post(path, wrong, origin)).status).toBe(403);
  expect((await post('passwordless/start', '', 'https://app.example')).status).toBe(200);
  expect((await otp(address, code, email)).status).toBe(200);
});

test('a code requested by a server is protected if the server authenticates and names the person’s address', async () => {
  // Nobody else's here: what another test had asked for may come late.
  const email = 'henry@example.com';
  const secret = { client_id: 'backend', client_secret: 'backend-secret' };
  const by = (server: string, person: string) => ({ ...from(server), 'auth0-forwarded-for': person });
  const asked = { ...secret, connection: 'email', send: 'code', email };
  const redeem = (otp: string, headers: Form) =>
    gate.post(
      'oauth/token',
      {
        ...secret,
        grant_type: 'http://auth0.com/oauth/grant-type/passwordless/otp',
        otp,
        username: email,
        realm: 'email',
        scope: 'openid',
      },
      headers,
    );
  const [owner, stranger] = ['203.0.113.101', '203.0.113.102'];
  const code = await codeOf(email, () => gate.post('passwordless/start', asked, by('192.0.2.50', owner)));
  await gate.post('passwordless/start', asked, by('192.0.2.50', stranger));
  // Whoever has not the secret is not believed.
  const { client_secret: _, ...unproven } = asked;
  expect((await gate.post('passwordless/start', unproven, by('192.0.2.50', owner))).status).toBe(200);
  const wrong = { ...asked, client_secret: 'wrong' };
  expect((await gate.post('passwordless/start', wrong, by('192.0.2.50', owner))).json.error).toBe('invalid_client');
  for (const guess of [...wrongOnes(code, 3), code])
    expect((await redeem(guess, by('192.0.2.50', stranger))).status).toBe(400);
  const verify = { ...secret, connection: 'email', email, verification_code: code };
  expect((await gate.post('passwordless/verify', verify, by('192.0.2.51', owner))).status).toBe(200);
  expect((await redeem(code, by('192.0.2.51', owner))).status).toBe(200);
});

test('three wrong tries spend a code even in the browser that requested it', async () => {
  const email = 'carol@example.com';
  const browser = new Browser(gate);
  let page!: Awaited<ReturnType<typeof askOnPage>>;
  const code = await codeOf(email, async () => {
    page = await askOnPage(browser, email);
  });
  for (const guess of wrongOnes(code, 3)) page = await browser.submit(page, { code: guess });
  const spent = await browser.submit(page, { code });
  expect([spent.status, spent.location]).toEqual([400, undefined]);
});

test('after thirty wrong guesses at one person, the next codes have twelve digits and work', async () => {
  const email = 'dave@example.com';
  for (let index = 0; index < 10; index += 1) {
    const address = `198.51.100.${index}`;
    const code = await codeOf(email, () => start(address, email));
    expect(code).toMatch(/^\d{6}$/);
    for (const guess of wrongOnes(code, 3)) await otp(address, guess, email);
  }
  const code = await codeOf(email, () => start('192.0.2.3', email));
  expect(code).toMatch(/^\d{12}$/);
  expect((await otp('192.0.2.3', code.slice(0, 6), email)).status).toBe(400);
  expect((await otp('192.0.2.3', code, email)).status).toBe(200);
});

test('after twenty codes for one person within three minutes, the page sends one of twelve digits and accepts it', async () => {
  const email = 'judy@example.com';
  for (let index = 0; index < 20; index += 1) await start('198.51.100.1', email);
  await until('twenty codes', async () => (await codesTo(email)).length === 20);
  expect((await codesTo(email)).every((code) => code.length === 6)).toBe(true);
  const browser = new Browser(gate);
  let page!: Awaited<ReturnType<typeof askOnPage>>;
  const code = await codeOf(email, async () => {
    page = await askOnPage(browser, email);
  });
  expect(code).toMatch(/^\d{12}$/);
  const short = await browser.submit(page, { code: code.slice(0, 6) });
  expect([short.status, short.location]).toEqual([400, undefined]);
  const { location } = await browser.submit(short, { code });
  expect(new URLSearchParams(location!.hash.slice(1)).has('id_token')).toBe(true);
});

describe('however many messages strangers request', () => {
  /** How many of the requests from each address were answered with 200. */
  const sentTo = async (email: string, addresses: string[], each: number) => {
    const counts: number[] = [];
    for (const address of addresses) {
      const answers: number[] = [];
      for (let index = 0; index < each; index += 1) answers.push((await start(address, email)).status);
      counts.push(answers.filter((status) => status === 200).length);
    }
    return counts;
  };
  const range = (count: number, network: string) =>
    Array.from({ length: count }, (_, index) => `${network}.${index + 1}`);

  test('the owner still gets a code, and somebody who requests too many is told', async () => {
    const email = 'erin@example.com';
    // Twenty-five each, and the one of ten minutes of a network that had those.
    expect(await sentTo(email, range(2, '198.51.100'), 27)).toEqual([26, 26]);
    await until('their mails', async () => (await codesTo(email)).length === 52);
    const code = await codeOf(email, () => start('192.0.2.4', email));
    expect((await otp('192.0.2.4', code, email)).status).toBe(200);
    await until('the login', async () => {
      const { rows } = await database.query('SELECT last_ip FROM auth.accounts WHERE email = $1', [email]);
      return rows[0].last_ip === '192.0.2.4';
    });
    // Two more of his first three, five of the network where he logged in last, and the one of ten minutes.
    expect(await sentTo(email, ['192.0.2.4'], 10)).toEqual([8]);
  });

  test('from any number of networks, a person’s own network still gets codes, and a mailbox gets at most 99 an hour', async () => {
    const email = 'frank@example.com';
    const home = '192.0.2.5';
    const code = await codeOf(email, () => start(home, email));
    expect((await otp(home, code, email)).status).toBe(200);
    await database.query('UPDATE auth.accounts SET last_ip = $2 WHERE email = $1', [email, home]);
    const strangers = await sentTo(email, range(11, '203.0.113'), 25);
    // Forty-nine of what all share and the one of ten minutes, then three for each that comes late.
    expect(strangers).toEqual([25, 25, 3, 3, 3, 3, 3, 3, 2, 0, 0]);
    expect(await sentTo(email, [home], 6)).toEqual([5]);
  });

  test('all addresses of one IPv6 network count as one', async () => {
    const addresses = ['2001:db8::1', '2001:db8::2', '2001:db8::3'];
    expect((await sentTo('grace@example.com', addresses, 9)).reduce((sum, count) => sum + count)).toBe(26);
  });

  test('somebody on the same network as a stranger still gets messages', async () => {
    const email = 'heidi@example.com';
    const home = '192.0.2.9';
    const code = await codeOf(email, () => start(home, email));
    expect((await otp(home, code, email)).status).toBe(200);
    await database.query('UPDATE auth.accounts SET last_ip = $2 WHERE email = $1', [email, home]);
    expect(await sentTo(email, range(1, '203.0.113'), 27)).toEqual([26]);
    // Twenty-four more as any network, five of his own's, and one in ten minutes, which no other network spends.
    expect(await sentTo(email, [home], 32)).toEqual([30]);
    await database.query('UPDATE auth.accounts SET last_ip = NULL WHERE email = $1', [email]);
    expect(await sentTo(email, ['192.0.2.10'], 5)).toEqual([4]);
  });

  test('the owner gets the mail for a new password on request', async () => {
    const email = 'alice@example.com';
    const ask = (address: string) =>
      gate.post('dbconnections/change_password', { client_id: 'spa', connection, email }, from(address));
    const links = async () =>
      (await gate.outbox()).filter((mail) => mail.includes(email) && mail.includes('Subject: Change your'));
    for (const address of range(2, '198.51.100'))
      for (let index = 0; index < 26; index += 1) expect((await ask(address)).status).toBe(200);
    await until('the strangers’ mails', async () => (await links()).length === 52);
    expect((await ask('192.0.2.6')).status).toBe(200);
    await until('the owner’s mail', async () => (await links()).length === 53);
    const many = await Promise.all(Array.from({ length: 75 }, () => ask('198.51.100.1')));
    expect(many.map(({ status }) => status).sort()).toEqual([...Array(74).fill(200), 429]);
  });
});

test('an address is looked up only after the answer, on the page and by the API', async () => {
  const browser = new Browser(gate);
  const login = await browser.authorize({ ...asked, connection: '' });
  const page = await browser.get(`${new URL(login.url).pathname}/forgot-password`);
  const addresses = ['bob@example.com', 'nobody@example.com'];
  // While somebody else holds the table, no account can be looked up.
  await database.query('BEGIN');
  await database.query('LOCK TABLE auth.accounts IN ACCESS EXCLUSIVE MODE');
  try {
    for (const email of addresses) {
      const answer = await gate.post('dbconnections/change_password', { client_id: 'spa', connection, email });
      expect(answer.status).toBe(200);
      const shown = await browser.submit(page, { email });
      expect([shown.status, shown.html.includes(email)]).toEqual([200, true]);
    }
  } finally {
    await database.query('ROLLBACK');
  }
  const links = async (email: string) =>
    (await gate.outbox()).filter((mail) => mail.includes(email) && mail.includes('Subject: Change your')).length;
  await until('the mails', async () => (await links('bob@example.com')) === 2);
  expect(await links('nobody@example.com')).toBe(0);
});
