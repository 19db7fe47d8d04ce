/** A hook's custom request headers are secrets of one receiver: whoever may change hooks must not have them sent to another. */
import { makeSeal } from '@gatepost/runtime/seal';
import { hookHeadersPurpose, hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Called, call, openApi } from '../support/api.ts';
import { openJobs } from '../support/jobs.ts';

const home = 'https://receiver.example/hook';
const headers = { Authorization: 'Bearer of-the-receiver', 'X-Api-Key': 'k3y' };
const masked = { Authorization: '********', 'X-Api-Key': '********' };
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi());
const owner = await api.tokens.user('auth0|alice', 'admin:repo_hook admin:org_hook');
const writer = await api.tokens.user('auth0|alice', 'write:repo_hook admin:org_hook');

const places = ['/repos/acme/widgets/hooks', '/orgs/acme/hooks'];
let made = 0;
/** A hook at `home`, told apart from the others by its secret. */
async function create(place = places[0]!, url = home): Promise<number> {
  made += 1;
  const config = { url, secret: `s${made}` };
  const { status, body } = await call(api, owner, 'POST', place, {
    name: 'web',
    config,
    request_headers: headers,
    events: [],
  });
  expect(status).toBe(201);
  return body.id;
}
const patch = (path: string, body: unknown): Promise<Called> => call(api, writer, 'PATCH', path, body);
async function stored(id: number): Promise<{ url: string; secret: unknown; headers: unknown }> {
  const { rows } = await api.sql.query('SELECT url, secret, headers FROM hooks WHERE id = $1', [id]);
  const seal = makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64'));
  return {
    url: rows[0].url,
    secret: rows[0].secret && seal.open(rows[0].secret, hookSecretPurpose),
    headers: rows[0].headers ? JSON.parse(seal.open(rows[0].headers, hookHeadersPurpose)) : {},
  };
}

describe.each(places)('masked headers of a hook of %s', (place) => {
  test.each<[string, (url: string) => [path: string, body: unknown]]>([
    ['its config is changed', (url) => ['/config', { url }]],
    ['its config is changed and the masks are sent along', (url) => ['/config', { url, headers: masked }]],
    ['its config is replaced', (url) => ['', { config: { url } }]],
    [
      'it is replaced by what was read, but for the address',
      (url) => ['', { config: { url }, request_headers: masked }],
    ],
    ['the masks stand where they used to', (url) => ['', { config: { url, headers: masked } }]],
  ])('are not sent to another origin when %s', async (_how, change) => {
    // What used to happen: the ping that the writer may ask for brought the Authorization of somebody else's server to his own.
    const id = await create(place);
    const [path, body] = change('https://attacker.example/hook');
    const { status, body: answer } = await patch(`${place}/${id}${path}`, body);
    expect(status).toBe(200);
    expect(answer.dropped_headers).toBe('Authorization, X-Api-Key');
    expect((await call(api, writer, 'GET', `${place}/${id}`)).body.request_headers).toEqual({});
    expect((await stored(id)).headers).toEqual({});
    // And they do not come back with the address.
    await patch(`${place}/${id}/config`, { url: home, headers: masked });
    expect((await stored(id)).headers).toEqual({});
  });

  test('are kept if the update gives them again', async () => {
    const id = await create(place);
    const url = 'https://moved.example/hook';
    const { body } = await patch(`${place}/${id}/config`, { url, headers: { ...masked, 'x-api-key': 'n3w' } });
    expect(body.dropped_headers).toBeUndefined(); // refused: two spellings of one name
    const moved = await patch(`${place}/${id}/config`, {
      url,
      headers: { Authorization: '********', 'x-api-key': 'n3w' },
    });
    expect(moved.body).toMatchObject({ url, dropped_headers: 'Authorization' });
    expect((await stored(id)).headers).toEqual({ 'x-api-key': 'n3w' });
  });
});

describe('the origin of a hook', () => {
  test.each([
    ['the scheme', 'http://receiver.example/hook'],
    ['the port', 'https://receiver.example:8443/hook'],
    ['the host', 'https://receiver.example.attacker.example/hook'],
    ['a subdomain', 'https://x.receiver.example/hook'],
    ['the dot at the end of its name', 'https://receiver.example./hook'],
  ])('changes with %s', async (_what, url) => {
    const id = await create();
    await patch(`${places[0]}/${id}/config`, { url });
    expect(await stored(id)).toEqual({ url, secret: expect.anything(), headers: {} });
  });

  test.each([
    ['another path and query', 'https://receiver.example/other?x=1'],
    ['its default port written out', 'https://receiver.example:443/hook'],
    ['capital letters', 'HTTPS://Receiver.Example/hook'],
  ])('stays the same with %s', async (_what, url) => {
    const id = await create();
    const { body } = await patch(`${places[0]}/${id}/config`, { url });
    expect(body).toMatchObject({ url });
    expect(body.dropped_headers).toBeUndefined();
    expect(await stored(id)).toEqual({ url, secret: expect.anything(), headers });
  });

  test('is compared the way the dispatcher reads it, such as letter case of an international name or port 80', async () => {
    const id = await create(places[0], 'http://xn--mnchen-3ya.example:80/');
    await patch(`${places[0]}/${id}/config`, { url: 'http://XN--Mnchen-3ya.example/' });
    expect((await stored(id)).headers).toEqual(headers);
    await patch(`${places[0]}/${id}/config`, { url: 'http://xn--mnchen-4ya.example/' });
    expect((await stored(id)).headers).toEqual({});
  });

  test('ignores the password in an old URL from before passwords were kept apart', async () => {
    const id = await create();
    await api.sql.query("UPDATE hooks SET url = 'https://receiver.example:pw@attacker.example/' WHERE id = $1", [id]);
    await patch(`${places[0]}/${id}/config`, { url: 'https://receiver.example/' });
    expect((await stored(id)).headers).toEqual({});
  });
});

test('two simultaneous updates never send the headers of one origin to another', async () => {
  const id = await create();
  const path = `${places[0]}/${id}`;
  for (let round = 0; round < 8; round += 1) {
    await api.sql.query('UPDATE hooks SET url = $1 WHERE id = $2', [home, id]);
    expect((await call(api, owner, 'PATCH', path, { request_headers: headers })).status).toBe(200);
    const updates = [
      () => patch(`${path}/config`, { headers: masked, content_type: 'json' }),
      () => patch(`${path}/config`, { url: `https://attacker.example/${round}` }),
      () => patch(path, { config: { url: home }, request_headers: masked }),
    ];
    const answers = await Promise.all(
      round % 2 === 0 ? updates.map((update) => update()) : updates.reverse().map((update) => update()),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const now = await stored(id);
    if (now.url !== home) expect(now.headers).toEqual({});
  }
});

test('a mask for a header that does not exist is left out of an update and never becomes a value', async () => {
  const id = await create();
  await patch(`${places[0]}/${id}/config`, { headers: { ...masked, 'X-Unknown': '********' } });
  expect((await stored(id)).headers).toEqual(headers);
});

test('the secret stays with the hook as at GitHub: it signs and is never sent', async () => {
  const [id, other] = [await create(), await create()];
  const url = 'https://elsewhere.example/';
  const { secret } = await stored(id);
  await patch(`${places[0]}/${id}/config`, { url });
  expect((await stored(id)).secret).toBe(secret);
  await patch(`${places[0]}/${id}`, { config: { url: home, secret: '********' } });
  expect((await stored(id)).secret).toBe(secret);
  expect((await patch(`${places[0]}/${other}`, { config: { url } })).body.config).not.toHaveProperty('secret');
  expect((await stored(other)).secret).toBeNull();
});

test('no payload, answer or description shows a header’s value', async () => {
  await using jobs = await openJobs(api);
  const id = await create();
  const answers = [
    await call(api, writer, 'POST', `${places[0]}/${id}/pings`),
    await call(api, writer, 'GET', `${places[0]}/${id}`),
    await call(api, writer, 'GET', `${places[0]}/${id}/config`),
    await call(api, writer, 'GET', places[0]!),
  ];
  const { payload } = await jobs.next(({ job }) => job.hookId === id);
  expect(payload.hook.request_headers).toEqual(masked);
  expect(JSON.stringify([answers.map(({ body }) => body), payload])).not.toMatch(/of-the-receiver|k3y/);
});
