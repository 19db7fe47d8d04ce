/** Second factors on the hosted pages: set up after a login, asked for by policy, client and `acr_values`, with recovery codes. */
import { Browser, type Page } from '@gatepost/testkit/browser';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { ageSessions } from './aged.ts';
import {
  administrator,
  claimsOf,
  codeOf,
  multiFactor,
  person,
  recoveryCodesIn,
  secretIn,
  whileOff,
} from './authenticator.ts';
import { openGate } from './gate.ts';
import { alice, bob, connections, spaRequest as request, settings, spa } from './seeds.ts';
import { recordStatements } from './statements.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const { texts: statements } = stack.use(recordStatements());

const gate = stack.use(
  await openGate((issuer: string) => ({
    settings: { ...settings, guardian_factors: ['otp', 'sms', 'email'] },
    clients: [
      spa,
      { ...spa, client_id: 'strict', mfa_policy: 'always' },
      { ...spa, client_id: 'lax', mfa_policy: 'never' },
      administrator(issuer),
    ],
    users: [
      alice,
      bob,
      ...['carol', 'dave', 'erin', 'frank', 'grace', 'heidi', 'ivan', 'judy', 'kim', 'leo', 'mona', 'nina'].map(
        (name, index) => person(name, 10 + index),
      ),
    ],
    connections,
  })),
);
const { pool: db } = gate;

const stepUp = { ...request, acr_values: multiFactor };
const errorOf = ({ location }: Page) => new URLSearchParams(location?.hash.slice(1)).get('error');
/** Sets up an authenticator app on the way into the application. */
async function enrol(browser: Browser, email: string, asked: Record<string, string> = stepUp) {
  const choice = await browser.logIn(await browser.authorize(asked), email);
  const form = await browser.submit(choice, { factor: 'otp' });
  const secret = secretIn(form);
  const codes = await browser.submit(form, { code: codeOf(secret, -1) });
  return { choice, form, secret, recovery: recoveryCodesIn(codes), done: await browser.submit(codes) };
}

describe('an authenticator app', () => {
  test('is set up where a request asks for several factors, with ten recovery codes, and then asked for at the next login', async () => {
    const browser = new Browser(gate);
    const { choice, form, secret, recovery, done } = await enrol(browser, 'alice@example.com');
    expect(choice.html).toContain('Authenticator app');
    expect(form.html).toContain('src="data:image/svg+xml;base64,');
    expect(new Set(recovery).size).toBe(10);
    expect(claimsOf(done)).toMatchObject({ sub: 'auth0|alice', acr: multiFactor, amr: ['pwd', 'otp', 'mfa'] });

    const later = new Browser(gate);
    const asked = await later.logIn(await later.authorize(request));
    expect(asked.html).toContain('code from your authenticator app');
    // Nobody is signed in by a password alone.
    expect(errorOf(await later.authorize({ ...request, prompt: 'none' }))).toBe('login_required');
    const wrong = await later.submit(asked, { code: '000000' });
    expect([wrong.status, wrong.html]).toEqual([400, expect.stringContaining('That code is wrong')]);
    expect(claimsOf(await later.submit(wrong, { code: codeOf(secret) }))).toMatchObject({
      sub: 'auth0|alice',
      amr: ['pwd', 'otp', 'mfa'],
    });
  });

  test('refuses a code that was used already, also in another browser, and says so', async () => {
    const { secret } = await enrol(new Browser(gate), 'bob@example.com');
    const [one, two] = [new Browser(gate), new Browser(gate)];
    const pages = await Promise.all(
      [one, two].map(async (each) => each.logIn(await each.authorize(request), 'bob@example.com')),
    );
    const code = codeOf(secret);
    expect(claimsOf(await one.submit(pages[0]!, { code })).sub).toBe('auth0|bob');
    const refused = await two.submit(pages[1]!, { code });
    expect([refused.status, refused.html]).toEqual([400, expect.stringContaining('has already been used')]);
  });

  test('is set up only after a fresh login, so that a session of one hour must log in again', async () => {
    const browser = new Browser(gate);
    expect(claimsOf(await browser.logIn(await browser.authorize(request), 'carol@example.com')).acr).toBeUndefined();
    await ageSessions(gate, 'auth0|carol', 3_600);
    expect((await browser.authorize(stepUp)).html).toContain('name="identifier"');
    expect(claimsOf(await browser.authorize({ ...request, prompt: 'none' })).sub).toBe('auth0|carol');
  });
});

describe('step-up authentication', () => {
  test('asks a session only for the second factor, and leaves its auth_time as it was', async () => {
    const browser = new Browser(gate);
    const { secret } = await enrol(new Browser(gate), 'dave@example.com');
    const first = claimsOf(
      await browser.logIn(
        await browser.authorize({ ...request, client_id: 'lax', max_age: '1000' }),
        'dave@example.com',
      ),
    );
    expect([first.amr, first.acr]).toEqual([['pwd'], undefined]);
    expect(errorOf(await browser.authorize({ ...stepUp, prompt: 'none' }))).toBe('interaction_required');
    const asked = await browser.authorize({ ...stepUp, max_age: '1000' });
    expect(asked.html).not.toContain('name="password"');
    const done = claimsOf(await browser.submit(asked, { code: codeOf(secret) }));
    expect(done).toMatchObject({ acr: multiFactor, amr: ['pwd', 'otp', 'mfa'], auth_time: first.auth_time });
    // It stays so, also for who asks for nothing.
    expect(claimsOf(await browser.authorize({ ...stepUp, prompt: 'none' })).acr).toBe(multiFactor);
  });

  test('a client whose MFA policy is `always` has everybody set up a factor, and one of `never` asks nobody', async () => {
    const browser = new Browser(gate);
    const { choice, done } = await enrol(browser, 'erin@example.com', { ...request, client_id: 'strict' });
    expect(choice.html).toContain('requires more than a password');
    expect(claimsOf(done).amr).toEqual(['pwd', 'otp', 'mfa']);
    const lax = new Browser(gate);
    expect(
      claimsOf(await lax.logIn(await lax.authorize({ ...request, client_id: 'lax' }), 'erin@example.com')).amr,
    ).toEqual(['pwd']);
    // That session is not enough elsewhere.
    expect((await lax.authorize(request)).html).toContain('code from your authenticator app');
  });

  test('an unsupported acr is refused', async () => {
    const claims = JSON.stringify({ id_token: { acr: { essential: true, value: 'urn:unknown' } } });
    expect(errorOf(await new Browser(gate).authorize({ ...request, claims }))).toBe(
      'unmet_authentication_requirements',
    );
  });
});

describe('a recovery code', () => {
  test('logs in once, however it is typed', async () => {
    const { recovery } = await enrol(new Browser(gate), 'frank@example.com');
    const logInBy = async (code: string) => {
      const browser = new Browser(gate);
      const asked = await browser.logIn(await browser.authorize(request), 'frank@example.com');
      const choice = await browser.submit(asked, { action: 'other' });
      const form = await browser.submit(choice, { factor: 'recovery' });
      return browser.submit(form, { code });
    };
    const [code = ''] = recovery;
    expect(claimsOf(await logInBy(code.toLowerCase().replaceAll('-', ' '))).amr).toEqual(['pwd', 'otp', 'mfa']);
    const again = await logInBy(code);
    expect([again.status, again.html]).toEqual([400, expect.stringContaining('has already been used')]);
  });

  test('does not count while recovery codes are switched off, even where it was asked for before', async () => {
    const { recovery } = await enrol(new Browser(gate), 'mona@example.com');
    const browser = new Browser(gate);
    const asked = await browser.logIn(await browser.authorize(request), 'mona@example.com');
    const choice = await browser.submit(asked, { action: 'other' });
    const form = await browser.submit(choice, { factor: 'recovery' });
    await whileOff(gate, ['recovery-code'], async () => {
      for (const page of [await browser.submit(form, { code: recovery[0]! }), await browser.get(form.url)])
        expect([page.url, page.html]).toEqual([choice.url, expect.not.stringContaining('value="recovery"')]);
    });
    expect(claimsOf(await browser.submit(form, { code: recovery[0]! })).sub).toBe('auth0|mona');
  });
});

describe('codes by mail and text message', () => {
  test('are set up with a first code, and sent at later logins to an address that is shown in part', async () => {
    const browser = new Browser(gate);
    const choice = await browser.logIn(await browser.authorize(stepUp), 'grace@example.com');
    const form = await browser.submit(choice, { factor: 'email' });
    const sent = await browser.submit(form, { address: 'grace@work.example' });
    const codes = await browser.submit(sent, { code: await codeSentTo('grace@work.example') });
    expect(claimsOf(await browser.submit(codes)).acr).toBe(multiFactor);
    // The address of the account is told, not the new one.
    await until('a mail that says so', async () =>
      (await gate.outbox()).some((text) => text.includes('To: grace@example.com') && text.includes('was added')),
    );

    const later = new Browser(gate);
    const ways = await later.logIn(await later.authorize(request), 'grace@example.com');
    const asked = await later.submit(ways, { factor: 'email' });
    expect(asked.html).toContain('g••••@work.example');
    const done = await later.submit(asked, { code: await codeSentTo('grace@work.example', 1) });
    expect(claimsOf(done).amr).toEqual(['pwd', 'otp', 'mfa']);
  });
});

test('an unfinished first setup ends with one of a kind that was switched on meanwhile, but not with one that is off', async () => {
  const strict = { ...request, client_id: 'strict' };
  const begin = async () => {
    const browser = new Browser(gate);
    return { browser, page: await browser.logIn(await browser.authorize(strict), 'nina@example.com') };
  };
  const stranger = await whileOff(gate, ['sms', 'email'], begin);
  const { browser, page } = await begin();
  const form = await browser.submit(page, { factor: 'sms' });
  const sent = await browser.submit(form, { address: '+15555550397' });
  const codes = await browser.submit(sent, { code: await codeSentTo('+15555550397') });
  expect(claimsOf(await browser.submit(codes)).amr).toEqual(['pwd', 'sms', 'mfa']);

  const refused = await stranger.browser.submit(stranger.page, { code: codeOf(secretIn(stranger.page), -1) });
  expect(refused.html).toContain('name="identifier"');
  const { rows } = await db.query("SELECT type FROM authentication_methods WHERE user_id = 'auth0|nina'");
  expect(rows).toEqual([{ type: 'phone' }]);

  await whileOff(gate, ['sms', 'email'], async () => {
    const again = await begin();
    const shown = await again.browser.submit(again.page, { code: codeOf(secretIn(again.page), -1) });
    expect(recoveryCodesIn(shown)).toHaveLength(10);
  });
});

async function codeSentTo(to: string, seen = 0): Promise<string> {
  const message = await until(
    `a message to ${to}`,
    async () => (await gate.outbox()).filter((text) => text.includes(to) && /code is \d{6}/.test(text))[seen],
  );
  return /code is (\d{6})/.exec(message)![1]!;
}

test('a remembered browser skips the second factor unless the request asks for several, and can be forgotten', async () => {
  const { secret } = await enrol(new Browser(gate), 'heidi@example.com');
  const browser = new Browser(gate);
  const asked = await browser.logIn(await browser.authorize(request), 'heidi@example.com');
  await browser.submit(asked, { code: codeOf(secret), remember: 'yes' });
  for (const key of browser.cookies.keys()) if (key.startsWith('_session')) browser.cookies.delete(key);
  const spared = await browser.logIn(await browser.authorize(request), 'heidi@example.com');
  expect(claimsOf(spared)).toMatchObject({ amr: ['pwd'] });
  expect(claimsOf(await browser.authorize({ ...request, prompt: 'none' })).sub).toBe('auth0|heidi');
  expect((await browser.authorize(stepUp)).html).toContain('code from your authenticator app');
  await db.query('DELETE FROM remembered_browsers');
  for (const key of browser.cookies.keys()) if (key.startsWith('_session')) browser.cookies.delete(key);
  expect((await browser.logIn(await browser.authorize(request), 'heidi@example.com')).html).toContain(
    'authenticator app',
  );
});

test('a login with an authenticator app takes at most three statements more than one with a password alone', async () => {
  const statementsOf = async (email: string, secret?: string) => {
    const before = statements.length;
    const browser = new Browser(gate);
    const page = await browser.logIn(await browser.authorize(request), email);
    const done = secret === undefined ? page : await browser.submit(page, { code: codeOf(secret) });
    expect(claimsOf(done).sub).toBeDefined();
    return statements.length - before;
  };
  const plain: number[] = [];
  const withCode: number[] = [];
  await statementsOf('judy@example.com');
  for (const name of ['ivan', 'kim', 'leo']) {
    const { secret } = await enrol(new Browser(gate), `${name}@example.com`);
    plain.push(await statementsOf('judy@example.com'));
    withCode.push(await statementsOf(`${name}@example.com`, secret));
  }
  // The least of some: the gate has work of its own now and then.
  const more = Math.min(...withCode) - Math.min(...plain);
  expect(Math.min(...plain)).toBeGreaterThan(2);
  expect(more).toBeLessThanOrEqual(3);
  expect(more).toBeGreaterThan(0);
});
