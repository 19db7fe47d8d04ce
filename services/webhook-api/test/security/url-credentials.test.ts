/** User name and password in a hook's URL are secrets of one receiver: they go there as basic authentication, and nowhere else. */
import { makeSeal } from '@gatepost/runtime/seal';
import { hookCredentialsPurpose } from '@gatepost/webhook-db/secrets';
import { afterAll, expect, test } from '@jest/globals';
import { call, openApi } from '../support/api.ts';

const hooks = '/repos/acme/widgets/hooks';
const masked = 'https://********:********@receiver.example/hook';
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const alice = await api.tokens.user('auth0|alice', 'repo');

const post = (url: string, more: object = {}) =>
  call(api, alice, 'POST', hooks, { config: { url, content_type: 'json' }, ...more });
const patch = (id: number, body: unknown, path = '') => call(api, alice, 'PATCH', `${hooks}/${id}${path}`, body);
/** Each is told apart from the others by its events. */
async function create(event: string, userinfo = 'us%40er:p:w'): Promise<number> {
  const { status, body } = await post(`https://${userinfo}@receiver.example/hook`, { events: [event] });
  expect(status).toBe(201);
  return body.id;
}
async function stored(id: number): Promise<{ url: string; credentials: string | null }> {
  const { rows } = await api.sql.query('SELECT url, credentials FROM hooks WHERE id = $1', [id]);
  const seal = makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64'));
  const { url, credentials } = rows[0];
  return { url, credentials: credentials && seal.open(credentials, hookCredentialsPurpose) };
}

test('credentials in a URL are sealed, and masked in every answer and in the ping', async () => {
  const userinfo = 'c4n4ry:p4ssw0rd';
  const made = await post(`https://${userinfo}@receiver.example/hook`, { events: ['issues'] });
  expect(made.body.config.url).toBe(masked);
  const { id } = made.body;
  const answers = [
    made,
    await call(api, alice, 'GET', `${hooks}/${id}`),
    await call(api, alice, 'GET', hooks),
    await call(api, alice, 'GET', `${hooks}/${id}/config`),
    await patch(id, { active: false }),
    await patch(id, { content_type: 'form' }, '/config'),
    await post(`https://${userinfo}@receiver.example:99999/`),
    await post(`https://${userinfo}@localhost/`),
    await call(api, alice, 'POST', hooks, { config: { url: `https://${userinfo}@receiver.example/` }, events: 5 }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 200, 422, 422, 422]);
  const payloads = await api.sql.query("SELECT convert_from(payload, 'UTF8') AS payload FROM events");
  const jobs = await api.sql.query('SELECT job FROM parked');
  const rows = await api.sql.query('SELECT * FROM hooks WHERE id = $1', [id]);
  const told = JSON.stringify([answers.map(({ body }) => body), payloads.rows, jobs.rows, rows.rows]);
  expect(told).not.toMatch(/c4n4ry|p4ssw0rd/);
  expect(payloads.rows[0].payload).toContain(masked);
  expect(await stored(id)).toEqual({ url: 'https://receiver.example/hook', credentials: userinfo });
});

test.each([
  ['nothing', 'label', {}, 'us%40er:p:w'],
  ['what was read', 'status', { config: { url: masked } }, 'us%40er:p:w'],
  ['an empty config', 'release', { config: {} }, 'us%40er:p:w'],
  ['another path behind the mask', 'fork', { config: { url: masked.replace('/hook', '/x') } }, 'us%40er:p:w'],
  ['new ones', 'watch', { config: { url: 'https://a:b@receiver.example/hook' } }, 'a:b'],
  ['a URL without', 'public', { config: { url: 'https://receiver.example/hook' } }, null],
  ['the mask behind another port', 'member', { config: { url: masked.replace('/hook', ':8443/') } }, null],
  ['the mask behind another host', 'team', { config: { url: masked.replace('receiver', 'attacker') } }, null],
])(
  'an update with %s keeps, replaces or drops the credentials of the URL accordingly',
  async (_what, event, body, credentials) => {
    const id = await create(event);
    const { status, body: answer } = await patch(id, body);
    expect(status).toBe(200);
    expect((await stored(id)).credentials).toBe(credentials);
    const isElsewhere = /8443|attacker/.test(JSON.stringify(body));
    expect(answer.dropped_headers).toBe(isElsewhere ? 'Authorization' : undefined);
    expect(answer.config.url.includes('********')).toBe(credentials !== null);
  },
);

test('hooks that differ only in the credentials of their URLs are not duplicates', async () => {
  await create('gollum', 'a:b');
  await create('gollum', 'a:c');
  expect(await post('https://a:b@receiver.example/hook', { events: ['gollum'] })).toMatchObject({
    status: 422,
    body: { errors: [{ message: 'Hook already exists on this repository' }] },
  });
});

test('a lone token, a slash in a password and a missing password are read the way a URL parser reads them', async () => {
  expect(await stored(await create('deployment', 't0ken'))).toMatchObject({ credentials: 't0ken' });
  expect(await stored(await create('meta', 'a@b:c'))).toMatchObject({ credentials: 'a@b:c' });
  expect(await stored(await create('create', ':'))).toMatchObject({ credentials: null });
  expect(await post('https://a:b/c@receiver.example/')).toMatchObject({ status: 422 });
  expect((await post('https://receiver.example/a@b?c@d', { events: ['delete'] })).body.config.url).toBe(
    'https://receiver.example/a@b?c@d',
  );
});

test('credentials of an old hook that still has them in its URL are masked, and sealed with its next update', async () => {
  const id = await create('ping', '');
  await api.sql.query("UPDATE hooks SET url = 'https://old:pw@receiver.example/hook' WHERE id = $1", [id]);
  expect((await call(api, alice, 'GET', `${hooks}/${id}`)).body.config.url).toBe(masked);
  await patch(id, { active: false });
  expect(await stored(id)).toEqual({ url: 'https://receiver.example/hook', credentials: 'old:pw' });
});
