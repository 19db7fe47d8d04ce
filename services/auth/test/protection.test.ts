/** `attack-protection`: what an administrator sets there is what the gate does. */
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openProtected } from './protected.ts';
import { alice } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const log = openLogLines();
const { gate, ask, protect, grant, signup, browserAt, passwordPage, logged } = stack.use(await openProtected({}, log));

const statuses = async (count: number, work: (index: number) => Promise<{ status: number }>) => {
  const found: number[] = [];
  for (let index = 0; index < count; index += 1) found.push((await work(index)).status);
  return found;
};
const usual = {
  'brute-force-protection': (await ask('GET', 'attack-protection/brute-force-protection')).body,
  'suspicious-ip-throttling': (await ask('GET', 'attack-protection/suspicious-ip-throttling')).body,
};
const back = (name: keyof typeof usual) => protect(name, usual[name]);

describe('brute-force-protection', () => {
  const name = 'brute-force-protection';

  test('begins with what the gate always did, and changes field by field', async () => {
    expect(usual[name]).toEqual({
      enabled: true,
      shields: ['block'],
      mode: 'count_per_identifier_and_ip',
      allowlist: [],
      max_attempts: 10,
    });
    expect((await ask('PATCH', `attack-protection/${name}`, { max_attempts: 3 })).body).toEqual({
      ...usual[name],
      max_attempts: 3,
    });
    for (const body of [{ max_attempts: 0 }, { mode: 'both' }, { allowlist: ['example.com'] }, { colour: 1 }])
      expect(await ask('PATCH', `attack-protection/${name}`, body)).toMatchObject({
        status: 400,
        body: { statusCode: 400, error: 'Bad Request', errorCode: 'invalid_body' },
      });
    await back(name);
  });

  test('pauses after as many failures as it says, and tells the person by mail', async () => {
    await protect(name, { max_attempts: 2, shields: ['block', 'user_notification'] });
    const wrong = () => grant('192.0.2.1', 'alice@example.com', 'wrong');
    expect(await statuses(3, wrong)).toEqual([400, 400, 429]);
    expect(await logged('limit_wc', '192.0.2.1')).toMatchObject({ user_id: 'auth0|alice' });
    const mail = await until('the mail', async () =>
      (await gate.outbox()).find((text) => text.includes('failed sign-ins') && text.includes('alice@example.com')),
    );
    expect(mail).toContain('change-password?ticket=');
    expect((await ask('GET', 'user-blocks/auth0%7Calice')).body.blocked_for).toMatchObject([{ ip: '192.0.2.1' }]);
    await back(name);
  });

  test('counts an account over all addresses where it says so', async () => {
    await protect(name, { max_attempts: 2, mode: 'count_per_identifier' });
    const answers = await statuses(3, (index) => grant(`192.0.2.${10 + index}`, 'bob@example.com', 'wrong'));
    expect(answers).toEqual([400, 400, 429]);
    expect((await grant('192.0.2.14', 'bob@example.com')).status).toBe(429);
    await back(name);
    expect((await grant('192.0.2.14', 'bob@example.com')).status).toBe(200);
  });

  test('leaves listed addresses alone, and everybody while it is off or does not block', async () => {
    await protect(name, { max_attempts: 1, allowlist: ['192.0.2.20', '2001:db8:5::/48'] });
    const wrong = (address: string) => () => grant(address, 'carol@example.com', 'wrong');
    expect(await statuses(3, wrong('192.0.2.20'))).toEqual([400, 400, 400]);
    expect(await statuses(3, wrong('2001:db8:5:7::1'))).toEqual([400, 400, 400]);
    expect(await statuses(2, wrong('192.0.2.21'))).toEqual([400, 429]);
    await protect(name, { shields: [] });
    expect(await statuses(3, wrong('192.0.2.22'))).toEqual([400, 400, 400]);
    expect((await logged('limit_wc', '192.0.2.22')).details).toEqual({ blocked: false });
    await protect(name, { enabled: false, shields: ['block'] });
    expect(await statuses(3, wrong('192.0.2.23'))).toEqual([400, 400, 400]);
    await back(name);
  });
});

describe('suspicious-ip-throttling', () => {
  const name = 'suspicious-ip-throttling';

  test('is off at first, and lets an address try as often as its stage says', async () => {
    expect(usual[name]).toMatchObject({ enabled: false, stage: { 'pre-login': { max_attempts: 100, rate: 864_000 } } });
    await protect(name, {
      enabled: true,
      shields: ['block', 'admin_notification'],
      stage: { 'pre-login': { max_attempts: 3 } },
      allowlist: ['192.0.2.39'],
    });
    expect((await ask('GET', `attack-protection/${name}`)).body.stage).toEqual({
      ...usual[name].stage,
      'pre-login': { max_attempts: 3, rate: 864_000 },
    });
    // Logins that succeed do not count, whoever's they are.
    expect(await statuses(4, () => grant('192.0.2.30', 'carol@example.com'))).toEqual([200, 200, 200, 200]);
    const stuffing = (address: string) => (index: number) => grant(address, `nobody${index}@example.com`, 'wrong');
    expect(await statuses(4, stuffing('192.0.2.30'))).toEqual([400, 400, 400, 429]);
    const refused = await grant('192.0.2.30', 'carol@example.com');
    expect(refused).toMatchObject({ status: 429, json: { error: 'too_many_attempts' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    expect((await logged('limit_mu', '192.0.2.30')).client_id).toBe('trusted');
    expect(log.lines.some(({ message }) => message === 'an address made too many attempts')).toBe(true);
    expect(await statuses(4, stuffing('192.0.2.39'))).toEqual([400, 400, 400, 400]);
    expect((await grant('192.0.2.31', 'carol@example.com')).status).toBe(200);
  });

  test('shows a pause on the pages, which a new password would not end', async () => {
    const browser = browserAt('192.0.2.30');
    const paused = await browser.submit(await passwordPage(browser, alice.email), { password: alice.password });
    expect([paused.status, paused.html.includes('Too many attempts')]).toEqual([429, true]);
    expect(paused.html).not.toContain('forgot-password');
  });

  test('grants one more for each interval, and limits sign-ups too', async () => {
    await protect(name, { stage: { 'pre-user-registration': { max_attempts: 2, rate: 300 } } });
    let refusals = 0;
    const sign = (index: number) => signup('192.0.2.40', `new${index}@example.com`);
    expect(await statuses(2, sign)).toEqual([200, 200]);
    await until('a refusal and then another one', async () => {
      const status = (await signup('192.0.2.40', `newer${Math.random()}@example.com`)).status;
      refusals += Number(status === 429);
      return refusals > 0 && status === 200;
    });
    expect((await logged('limit_mu', '192.0.2.40')).details).toEqual({ stage: 'pre-user-registration', blocked: true });
    await back(name);
  });
});
