/** Attacks on what defends the gate against attacks. */
import type { ServerResponse } from 'node:http';
import { openLog } from '@gatepost/runtime/log';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { afterAll, describe, expect, test } from '@jest/globals';
import { makeIsBreached } from '../../src/protection/breached/source.ts';
import { openProtected, solve } from '../protected.ts';
import { openRanges } from '../ranges.ts';
import { alice } from '../seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const pwned = stack.use(await openRanges());
const { gate, protect, grant, post } = stack.use(await openProtected());

describe('a range service for breached passwords', () => {
  const attacks: [string, (response: ServerResponse) => { status: number; body: string } | undefined][] = [
    ['answers without end', (response) => void endless(response)],
    ['answers a letter at a time', (response) => void trickle(response)],
    ['answers garbage', () => ({ status: 200, body: '<html>Hello</html>' })],
    ['answers an error', () => ({ status: 500, body: '' })],
    ['sends us elsewhere', (response) => void response.writeHead(302, { location: pwned.url }).end()],
    ['hangs up', (response) => void response.destroy()],
  ];
  test.each(attacks)(
    'that %s keeps nobody out, costs little time, and is asked again only later',
    async (_, answer) => {
      const log = openLogLines();
      let now = 0;
      const env = { BREACHED_PASSWORDS: pwned.url, OUTBOUND_ALLOWED_NETWORKS: ['127.0.0.0/8'] };
      const isBreached = makeIsBreached(env, openLog('auth', 'debug', log), () => now)!;
      pwned.add('known');
      pwned.answer = answer;
      expect(await isBreached('known')).toBe(false);
      expect(log.lines.map(({ message }) => message)).toEqual(['breached passwords could not be looked up']);
      expect(JSON.stringify(log.lines)).not.toContain('known"');
      pwned.answer = undefined;
      const asked = pwned.asked.length;
      expect([await isBreached('known'), pwned.asked.length]).toEqual([false, asked]);
      now += 5_001;
      expect(await isBreached('known')).toBe(true);
    },
  );

  test('at a private address is not asked unless that is allowed', async () => {
    pwned.answer = undefined;
    const asked = pwned.asked.length;
    const env = { BREACHED_PASSWORDS: pwned.url, OUTBOUND_ALLOWED_NETWORKS: [] };
    expect(await makeIsBreached(env, openLog('auth', 'silent'))!('known')).toBe(false);
    expect(pwned.asked.length).toBe(asked);
  });
});

function endless(response: ServerResponse): void {
  const line = `${'A'.repeat(35)}:1\r\n`.repeat(1_000);
  const more = () => {
    while (!response.destroyed && response.write(line));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

function trickle(response: ServerResponse): void {
  const timer = setInterval(() => response.write('A'), 100);
  response.on('close', () => clearInterval(timer));
}

describe('suspicious-ip-throttling', () => {
  test('uses no address made up before the proxy’s own, nor one from an untrusted application', async () => {
    await protect('suspicious-ip-throttling', {
      enabled: true,
      shields: ['block'],
      stage: { 'pre-login': { max_attempts: 3 } },
      allowlist: ['192.0.2.99'],
    });
    const tries = (index: number) =>
      grant(`192.0.2.99, 192.0.2.${100 + index}, 192.0.2.1`, `x${index}@example.com`, 'wrong');
    const statuses: number[] = [];
    for (let index = 0; index < 4; index += 1) statuses.push((await tries(index)).status);
    expect(statuses).toEqual([400, 400, 400, 429]);
    const form = { grant_type: 'password', client_id: 'public', username: 'alice@example.com', password: 'wrong' };
    const claimed = { 'x-forwarded-for': '192.0.2.1', 'auth0-forwarded-for': '192.0.2.99' };
    expect((await gate.post('oauth/token', form, claimed)).status).toBe(429);
  });

  test('gives parallel guesses no more tries than serial ones, and counts a network as one', async () => {
    const guesses = await Promise.all(
      Array.from({ length: 40 }, (_, index) => grant(`2001:db8:9:9::${index + 1}`, `y${index}@example.com`, 'wrong')),
    );
    expect(guesses.filter(({ status }) => status === 400)).toHaveLength(3);
    expect((await grant('2001:db8:9:a::1', alice.email)).status).toBe(200);
  });
});

describe('a solved challenge', () => {
  type Solution = Record<string, string | number>;
  const address = '192.0.2.120';
  const challengeOf = async (path: string) =>
    (await post(address, path, { client_id: 'spa' })).json.challenge as Solution;
  const reset = (captcha: string, headers = {}) =>
    gate.post(
      'dbconnections/change_password',
      { client_id: 'spa', email: 'alice@example.com', captcha },
      { 'x-forwarded-for': address, ...headers },
    );
  const changed = (captcha: string, change: Solution) =>
    Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(captcha, 'base64').toString()), ...change })).toString(
      'base64',
    );
  const resetChallenge = 'dbconnections/change_password/challenge';

  test('works once, of two hundred concurrent uses', async () => {
    await protect('bot-detection', { challenge_password_policy: 'always', challenge_password_reset_policy: 'always' });
    const captcha = solve(await challengeOf(resetChallenge));
    const answers = await Promise.all(Array.from({ length: 200 }, () => reset(captcha)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ json }) => json.code === 'invalid_captcha')).toHaveLength(199);
    expect((await reset(captcha)).status).toBe(400);
    // The same in another spelling.
    expect((await reset(changed(captcha, { took: 1 }))).status).toBe(400);
  });

  test('is for one stage, and cannot be forged, prolonged or altered', async () => {
    const ofSignup = solve(await challengeOf('dbconnections/signup/challenge'));
    expect((await reset(ofSignup)).json.code).toBe('invalid_captcha');
    const challenge = await challengeOf(resetChallenge);
    const captcha = solve(challenge);
    const { salt, number } = JSON.parse(Buffer.from(captcha, 'base64').toString()) as { salt: string; number: number };
    const forged: Solution[] = [
      { number: number + 1 },
      { signature: 'A'.repeat(43) },
      { signature: '' },
      { salt: salt.replace(/expires=\d+/, 'expires=9999999999') },
      { salt: salt.replace('password-reset', 'login') },
      { algorithm: 'MD5' },
      { number: -1 },
      // A digit of the number, put at the end of the salt.
      { salt: `${salt}${String(number)[0]}`, number: Number(String(number).slice(1) || 0) },
      { extra: 1 },
    ];
    for (const change of forged)
      expect([change, (await reset(changed(captcha, change))).json.code]).toEqual([change, 'invalid_captcha']);
    for (const rubbish of ['', '{}', 'AAAA', Buffer.from('null').toString('base64'), 'x'.repeat(5_000), '\u0000'])
      expect([400, 401]).toContain((await reset(rubbish)).status);
    expect((await reset(captcha)).status).toBe(200);
  });

  test('is still needed by somebody who makes up an address', async () => {
    await protect('bot-detection', { allowlist: ['192.0.2.99'] });
    const spoofed = { 'x-forwarded-for': `192.0.2.99, ${address}`, 'auth0-forwarded-for': '192.0.2.99' };
    expect((await reset('', spoofed)).json.code).toBe('requires_verification');
  });
});
