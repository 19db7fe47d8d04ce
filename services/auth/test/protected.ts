/** A gate behind a trusted proxy, whose `attack-protection` a test sets, and who tries what there. */
import { createHash } from 'node:crypto';
import { Browser, type Page } from '@gatepost/testkit/browser';
import type { LogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { openGate } from './gate.ts';
import { managerSeed, managerToken } from './manager.ts';
import { alice, bob, connections, fullSeed, spaRequest as request, settings } from './seeds.ts';

type Form = Record<string, string>;

export async function openProtected(env: Form = {}, log?: LogLines) {
  await using opening = new AsyncDisposableStack();
  const carol = { ...alice, user_id: 'auth0|carol', email: 'carol@example.com', phone_number: '+15555550103' };
  const gate = opening.use(
    await openGate(
      {
        ...fullSeed,
        settings,
        connections,
        users: [alice, bob, carol],
        clients: [
          ...fullSeed.clients,
          {
            client_id: 'public',
            grant_types: ['password'],
            token_endpoint_auth_method: 'none',
            is_first_party: true,
          },
          managerSeed([
            'read:attack_protection',
            'update:attack_protection',
            'read:users',
            'update:users',
            'read:logs',
          ]),
        ],
      },
      { TRUSTED_PROXIES: '127.0.0.0/8', ...env },
      log,
    ),
  );
  const { pool: db } = gate;
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const token = await managerToken(gate);
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${gate.issuer}api/v2/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const stack = opening.move();
  return {
    gate,
    db,
    ask,
    /** Changes what `attack-protection/{name}` says. */
    async protect(name: string, body: object) {
      const answer = await ask('PATCH', `attack-protection/${name}`, body);
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    },
    /** A login by the password grant. */
    grant: (address: string, username: string, password = alice.password, more: Form = {}) =>
      gate.post(
        'oauth/token',
        {
          grant_type: 'password',
          client_id: 'trusted',
          client_secret: 'trusted-secret',
          username,
          password,
          ...more,
        },
        from(address),
      ),
    signup: (address: string, email: string, more: Form = {}) =>
      gate.post(
        'dbconnections/signup',
        { client_id: 'spa', email, password: 'a fresh and long one', ...more },
        from(address),
      ),
    post: (address: string, path: string, form: Form) => gate.post(path, form, from(address)),
    /** A browser whose every request comes from one address. */
    browserAt: (address: string): Browser =>
      new (class extends Browser {
        override get = (path: string) => super.get(path, from(address));
        override post = (path: string, fields: Form) => super.post(path, fields, from(address));
      })(gate),
    async passwordPage(browser: Browser, identifier: string): Promise<Page> {
      return browser.submit(await browser.authorize(request), { identifier });
    },
    /** The first entry of the log of that type from that address. */
    logged: (type: string, ip: string) =>
      until(`${type} from ${ip}`, async () => {
        const { rows } = await db.query('SELECT * FROM logs WHERE type = $1 AND ip = $2 ORDER BY id', [type, ip]);
        return rows[0] as { user_id: string | null; client_id: string; details: Record<string, unknown> } | undefined;
      }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** What a browser finds for a challenge, as a page or an API gave it out. */
export function solve(given: string | Record<string, unknown>): string {
  const challenge = (typeof given === 'string' ? JSON.parse(given) : given) as Record<string, string> & {
    maxnumber: number;
  };
  const { algorithm, salt, signature } = challenge;
  let number = 0;
  while (createHash('sha256').update(`${salt}${number}`).digest('hex') !== challenge.challenge) {
    number += 1;
    if (number > challenge.maxnumber) throw new Error('the challenge has no solution');
  }
  const solution = { algorithm, challenge: challenge.challenge, number, salt, signature };
  return Buffer.from(JSON.stringify(solution)).toString('base64');
}

/** The challenge on a page. */
export const challengeOn = ({ html }: Page): string | undefined =>
  /data-challenge="([^"]+)"/
    .exec(html)?.[1]
    ?.replaceAll('&#34;', '"')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');

/** What several tries, one after the other, are answered. */
export async function statuses(count: number, work: (index: number) => Promise<{ status: number }>): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index += 1) found.push((await work(index)).status);
  return found;
}
