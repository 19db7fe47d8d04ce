/** Who decides on OAuth applications: an admin of the organization, through nobody else's application. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Api, audience, call, openApi } from '../support/api.ts';

let api: Api;
let alice: string;
/** Tokens that are not first party: alice's through an application, and machines'. */
let strangers: Record<string, string>;
const policy = '/orgs/acme/oauth-app-policy';
const approvals = '/orgs/acme/oauth-app-approvals';
const membership = (subject: string) => `/orgs/acme/memberships/${encodeURIComponent(subject)}`;
const scope = 'admin:org admin:org_hook repo site_admin';

beforeAll(async () => {
  api = await openApi();
  alice = await api.tokens.user('auth0|alice', scope);
  const sign = (claims: Record<string, unknown>) => api.issuer.sign({ aud: audience, scope, ...claims });
  strangers = {
    'an application': await api.tokens.app('auth0|alice', scope, 'evil-app'),
    'a token that does not say': await sign({ sub: 'auth0|alice', client_id: 'evil-app' }),
    'a claim that is only truthy': await sign({ sub: 'auth0|alice', client_id: 'evil-app', first_party: 'true' }),
    'a machine of somebody else’s': await sign({ sub: 'm2m', client_id: 'm2m', first_party: false }),
    'a machine’s token that does not say': await sign({ sub: 'm2m', client_id: 'm2m' }),
  };
});
afterAll(async () => await api?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await api.sql.query(`DELETE FROM oauth_app_approvals; UPDATE accounts SET oauth_app_restrictions = false;
    DELETE FROM memberships WHERE subject NOT IN ('auth0|alice', 'm2m', 'auth0|bob', 'auth0|olga')`);
});

const state = async () => ({
  policy: (await call(api, alice, 'GET', policy)).body,
  approvals: (await call(api, alice, 'GET', approvals)).body.map((one: { client_id: string }) => one.client_id),
});
const each = async (act: (token: string) => Promise<{ status: number }>) =>
  Object.fromEntries(
    await Promise.all(Object.entries(strangers).map(async ([who, token]) => [who, (await act(token)).status] as const)),
  );
const allAre = (status: number) => Object.fromEntries(Object.keys(strangers).map((who) => [who, status]));

describe('the OAuth app policy and its approvals', () => {
  // What used to happen: an application with admin:org, let in while the policy was off or once approved, approved itself for later.
  test.each<[string, string, unknown]>([
    ['GET', policy, undefined],
    ['PUT', policy, { enabled: true }],
    ['PUT', policy, { enabled: false }],
    ['GET', approvals, undefined],
    ['PUT', `${approvals}/evil-app`, undefined],
    ['DELETE', `${approvals}/good-app`, undefined],
  ])('%s %s %j needs a first-party token', async (method, path, body) => {
    await call(api, alice, 'PUT', `${approvals}/good-app`);
    const before = await state();
    expect(await each((token) => call(api, token, method, path, body))).toEqual(allAre(403));
    expect(await state()).toEqual(before);
  });

  test('need a first-party token even from an application that is approved', async () => {
    await call(api, alice, 'PUT', policy, { enabled: true });
    await call(api, alice, 'PUT', `${approvals}/evil-app`);
    const app = strangers['an application']!;
    expect(await call(api, app, 'GET', '/orgs/acme')).toMatchObject({ status: 200 });
    expect(await call(api, app, 'PUT', policy, { enabled: false })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('first-party') },
    });
    expect(await call(api, app, 'PUT', `${approvals}/other-app`)).toMatchObject({ status: 403 });
    expect(await state()).toEqual({ policy: { enabled: true }, approvals: ['evil-app'] });
  });

  test('can be changed by people and machines that are admins, through a first-party client', async () => {
    const machine = await api.tokens.machine('m2m', 'admin:org');
    expect(await call(api, machine, 'PUT', policy, { enabled: true })).toMatchObject({ status: 200 });
    expect(await call(api, machine, 'PUT', `${approvals}/good-app`)).toMatchObject({ status: 204 });
    expect(await call(api, alice, 'DELETE', `${approvals}/good-app`)).toMatchObject({ status: 204 });
    for (const [who, status] of [
      ['auth0|bob', 404], // a member that is no admin
      ['auth0|olga', 404], // an admin elsewhere
    ] as const)
      expect(await call(api, await api.tokens.user(who, scope), 'PUT', policy, { enabled: false })).toMatchObject({
        status,
      });
  });

  test('accept the same approval many times at once', async () => {
    const approve = () => call(api, alice, 'PUT', `${approvals}/racing-app`);
    const answers = await Promise.all(Array.from({ length: 12 }, approve));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 204));
  });

  test('do not reveal to a stranger’s application that the organization exists', async () => {
    const app = await api.tokens.app('auth0|olga', scope, 'evil-app');
    const narrow = await api.tokens.app('auth0|alice', 'repo', 'evil-app');
    for (const token of [app, narrow]) expect(await call(api, token, 'GET', policy)).toMatchObject({ status: 404 });
  });
});

describe('an application', () => {
  test('cannot make itself or anybody else an admin, who would then approve it', async () => {
    for (const subject of ['evil-app', 'auth0|mallory', 'auth0|bob'])
      expect(await each((token) => call(api, token, 'PUT', membership(subject), { role: 'admin' }))).toEqual(
        allAre(403),
      );
    expect(await call(api, alice, 'GET', membership('auth0|bob'))).toMatchObject({ body: { role: 'member' } });
    expect(await call(api, alice, 'GET', membership('auth0|mallory'))).toMatchObject({ status: 404 });
  });

  test('cannot take an admin’s role or membership', async () => {
    const { 'an application': app, 'a token that does not say': silent } = strangers;
    for (const token of [app, silent]) {
      expect(await call(api, token, 'PUT', membership('m2m'), { role: 'member' })).toMatchObject({ status: 403 });
      expect(await call(api, token, 'DELETE', membership('m2m'))).toMatchObject({ status: 403 });
    }
    expect(await call(api, alice, 'GET', membership('m2m'))).toMatchObject({ body: { role: 'admin' } });
  });

  test('may manage the members of an organization that lets it in', async () => {
    const app = strangers['an application']!;
    expect(await call(api, app, 'PUT', membership('auth0|carol'), {})).toMatchObject({ status: 200 });
    expect(await call(api, app, 'DELETE', membership('auth0|carol'))).toMatchObject({ status: 204 });
    expect(await call(api, app, 'DELETE', membership('auth0|carol'))).toMatchObject({ status: 404 });
    await call(api, alice, 'PUT', policy, { enabled: true });
    expect(await call(api, app, 'PUT', membership('auth0|carol'), {})).toMatchObject({ status: 403 });
  });

  test('made an admin while its demotion is under way does not stay one', async () => {
    // An admin's promotion and an application's change at once: whichever is first, the application touches no admin.
    for (let round = 0; round < 5; round += 1) {
      const subject = `auth0|racer${round}`;
      await call(api, alice, 'PUT', membership(subject), {});
      await Promise.all([
        call(api, alice, 'PUT', membership(subject), { role: 'admin' }),
        call(api, strangers['an application'], 'PUT', membership(subject), { role: 'member' }),
        call(api, strangers['an application'], 'DELETE', membership(subject)),
      ]);
      expect(await call(api, alice, 'GET', membership(subject))).toMatchObject({ body: { role: 'admin' } });
    }
  });
});
