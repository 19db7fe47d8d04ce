/**
 * Whatever is thrown at whichever endpoint, the gate answers in its protocols' own words: never 5xx, never a redirect to a place
 * that was not verified, errors as JSON with an OAuth code or as a page with its policy, nobody's secrets, and it stays well.
 *
 * FUZZ_SEED and FUZZ_RUNS look further (@gatepost/testkit/fuzz); on a busy machine a run ends early rather than late.
 */
import { Browser } from '@gatepost/testkit/browser';
import { fuzz } from '@gatepost/testkit/fuzz';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Attempt, makeAttempts, pairsOf } from './fuzz/attempts.ts';
import { canaries, plantSecrets } from './fuzz/secrets.ts';
import { flawOf, openSender } from './fuzz/verdict.ts';
import { callback, openTarget } from './target.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const target = stack.use(await openTarget({}, canaries));
const { gate, issuer } = target;
const { send } = stack.use(openSender(issuer));
// No request below names this client, so its secret is not among what is guessed at.
const managerToken = () =>
  target.machineToken({ client_id: 'operator', client_secret: 'operator-secret', audience: `${issuer}api/v2/` });
const management = await managerToken();
const managers = String(management.json.access_token);
const alices = (await target.login('spa')).access_token;
const attempts = makeAttempts([`Bearer ${managers}`, `Bearer ${alices}`]);
const secrets: Record<string, string> = {
  ...(await plantSecrets(target)),
  "the manager's token": managers,
  "Alice's token": alices,
};

async function check(asked: Attempt): Promise<void> {
  const seen = await send(asked);
  const flaw = seen && flawOf(asked, seen, issuer, secrets);
  if (!flaw) return;
  const shown = { ...asked, body: asked.body?.slice(0, 300), path: asked.path.slice(0, 600) };
  throw new Error(
    `${flaw}: ${JSON.stringify(shown)} → ${seen.status} ${seen.headers.location ?? ''} ${seen.text.slice(0, 200)}`,
  );
}
const checkAll = async (all: Attempt[]) => void (await Promise.all(all.map(check)));
const eight = (attempt: fc.Arbitrary<Attempt>) => fc.array(attempt, { minLength: 8, maxLength: 8 });

afterEach(async () => {
  expect((await managerToken()).status).toBe(200);
  expect((await gate.get('.well-known/openid-configuration')).status).toBe(200);
});

test('thousands of malformed requests at every endpoint cause no 5xx, no unverified redirect and no leaked secret', async () => {
  await fuzz(eight(attempts.protocol), checkAll, { numRuns: 300, timeLimitMs: 15_000 });
}, 3_600_000);

test('thousands of malformed posts to every sign-in form, in its own browser, cause none of these either', async () => {
  const steps = ['identifier', 'password', 'code', 'signup', 'forgot-password', 'consent', 'sign-in-as', 'x'];
  const fields = [
    'identifier',
    'password',
    'code',
    'email',
    'action',
    'page',
    'csrf',
    'ticket',
    'user_code',
    'xsrf',
    'logout',
  ];
  const forms = fc.array(fc.tuple(fc.constantFrom(...steps), pairsOf(fields, 5)), { minLength: 4, maxLength: 4 });
  const asked = { client_id: 'third', redirect_uri: callback, response_type: 'code', scope: 'openid email' };
  const signedIn = await target.loggedIn('bob@example.com');
  await fuzz(
    fc.tuple(forms, fc.boolean()),
    async ([all, known]) => {
      const browser = new Browser(gate);
      if (known) for (const [name, cookie] of signedIn.cookies) browser.cookies.set(name, cookie);
      const page = await browser.authorize(asked);
      const uid = new URL(page.url).pathname.split('/').at(-1)!;
      const csrf = page.forms[0]?.fields.csrf ?? '';
      for (const [step, body] of all) {
        const path = `interaction/${uid}/${step}`;
        await check({
          method: 'POST',
          path,
          type: 'application/x-www-form-urlencoded',
          body: `csrf=${csrf}&${body}`,
          headers: { cookie: browser.cookieHeader(new URL(path, issuer)), accept: 'text/html' },
        });
      }
    },
    { numRuns: 80, timeLimitMs: 8_000 },
  );
}, 3_600_000);

// Last: it changes what the others start from.
test('thousands of malformed requests to the management API, by a permitted client, cause none of these either', async () => {
  await fuzz(eight(attempts.management), checkAll, { numRuns: 200, timeLimitMs: 8_000 });
}, 3_600_000);
