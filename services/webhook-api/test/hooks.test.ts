import { makeSeal } from '@gatepost/runtime/seal';
import { until } from '@gatepost/testkit/until';
import { hookHeadersPurpose, hookSecretPurpose } from '@gatepost/webhook-db/secrets';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Called, call, openApi } from './support/api.ts';

const hooks = '/repos/acme/widgets/hooks';
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi({ DELIVERY_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128' }));
const alice = await api.tokens.user('auth0|alice', 'admin:repo_hook');
beforeEach(async () => {
  await api.sql.query('DELETE FROM hooks');
});

const create = (body: unknown, path = hooks): Promise<Called> => call(api, alice, 'POST', path, body);
/** Asked again while its turn does not come in time, which a busy machine decides: it has changed nothing then. */
const createInTurn = async (body: unknown): Promise<Called> => {
  const answer = await create(body);
  return answer.status === 503 ? createInTurn(body) : answer;
};
const change = (id: number, body: unknown, config = ''): Promise<Called> =>
  call(api, alice, 'PATCH', `${hooks}/${id}${config}`, body);
const storedSecrets = async (id: number) => {
  const { rows } = await api.sql.query('SELECT secret, headers FROM hooks WHERE id = $1', [id]);
  const seal = makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64'));
  return {
    secret: rows[0].secret && seal.open(rows[0].secret, hookSecretPurpose),
    headers: rows[0].headers && JSON.parse(seal.open(rows[0].headers, hookHeadersPurpose)),
  };
};

test('sixty simultaneous creations in one repository keep to the limit, and reads elsewhere do not wait for them', async () => {
  // Each used to hold a connection while it waited for its turn, until there was none left: 503, for reads as well.
  let done = false;
  const creating = Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      createInTurn({ config: { url: `https://example.com/${index}` }, events: [index % 3 === 0 ? 'issues' : 'push'] }),
    ),
  ).finally(() => {
    done = true;
  });
  const reads: number[] = [];
  while (!done) {
    reads.push((await call(api, alice, 'GET', '/repos/acme/gadgets/hooks')).status);
  }
  const statuses = (await creating).map(({ status }) => status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(40);
  expect(statuses.filter((status) => status === 422)).toHaveLength(20);
  expect(new Set(reads)).toEqual(new Set([200]));
  expect(reads.length).toBeGreaterThan(1); // some were answered before the creations were
});

describe('a repository hook', () => {
  test('is created with defaults, read, listed and deleted', async () => {
    const created = await create({ config: { url: 'https://example.com/one', secret: 's3cret' } });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      type: 'Repository',
      name: 'web',
      active: true,
      events: ['push'],
      config: {
        url: 'https://example.com/one',
        content_type: 'form',
        insecure_ssl: '0',
        secret: '********',
      },
      last_response: { code: null, status: 'unused', message: null },
      disabled_reason: null,
    });
    const { id, url } = created.body;
    expect(url).toBe(`${api.base}${hooks}/${id}`);
    expect(created.body).toMatchObject({
      ping_url: `${url}/pings`,
      test_url: `${url}/test`,
      deliveries_url: `${url}/deliveries`,
    });
    expect(created.body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(created.headers.get('location')).toBe(url);

    const shown = { ...created.body, health: expect.any(Object) };
    const got = await call(api, alice, 'GET', `${hooks}/${id}`);
    expect(got.body).toEqual(shown);
    const listed = await call(api, alice, 'GET', hooks);
    expect(listed.body).toEqual([shown]);
    expect(listed.headers.get('link')).toBeNull();

    expect(await call(api, alice, 'DELETE', `${hooks}/${id}`)).toMatchObject({ status: 204, body: undefined });
    expect(await call(api, alice, 'GET', `${hooks}/${id}`)).toMatchObject({
      status: 404,
      body: {
        message: 'Not Found',
        documentation_url: `${api.base}/docs#operation/repos/get-webhook`,
        status: '404',
      },
    });
  });

  test('keeps its secret and headers sealed in the database and masked in answers', async () => {
    const { body } = await create({
      config: { url: 'https://example.com/', secret: 'hunter2-hunter2' },
      request_headers: { 'X-Api-Key': 'k3y-k3y' },
    });
    expect(body).toMatchObject({ config: { secret: '********' }, request_headers: { 'X-Api-Key': '********' } });
    const { rows } = await api.sql.query('SELECT * FROM hooks WHERE id = $1', [body.id]);
    expect(
      JSON.stringify(rows[0], (_key, value) =>
        value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
      ),
    ).not.toMatch(/hunter2|k3y/);
    expect(await storedSecrets(body.id)).toEqual({ secret: 'hunter2-hunter2', headers: { 'X-Api-Key': 'k3y-k3y' } });
  });

  test('accepts the spellings that clients use for its config', async () => {
    const { body } = await create({
      name: 'web',
      config: { url: 'https://example.com/', content_type: '', secret: '', insecure_ssl: 1, unknown: true },
      events: ['push', 'issues', 'push'],
      active: false,
    });
    expect(body).toMatchObject({ active: false, events: ['push', 'issues'] });
    expect(body.config).toEqual({ url: 'https://example.com/', content_type: 'form', insecure_ssl: '1' });
    expect(body).toMatchObject({ retry: 'on', request_headers: {} });
  });

  test('lists pages with links that PyGithub and Octokit can follow', async () => {
    for (let index = 0; index < 5; index += 1) await create({ config: { url: `https://example.com/${index}` } });
    const first = await call(api, alice, 'GET', `${hooks}?per_page=2`);
    expect(first.body).toHaveLength(2);
    expect(first.headers.get('link')).toBe(
      `<${api.base}${hooks}?per_page=2&page=2>; rel="next", <${api.base}${hooks}?per_page=2&page=3>; rel="last"`,
    );
    const last = await call(api, alice, 'GET', `${hooks}?per_page=2&page=3`);
    expect(last.body).toHaveLength(1);
    expect(last.headers.get('link')).toBe(
      `<${api.base}${hooks}?per_page=2&page=2>; rel="prev", <${api.base}${hooks}?per_page=2&page=1>; rel="first"`,
    );
    expect((await call(api, alice, 'GET', `${hooks}?per_page=2&page=9`)).body).toEqual([]);
    expect((await call(api, alice, 'GET', `${hooks}?per_page=0&page=nonsense`)).body).toHaveLength(1);
  });
});

describe('an update', () => {
  // hub4j takes `config` for a map of texts: with anything else there the hooks of a whole repository are unreadable to it.
  test('replaces the whole config, so that members left out are gone, and nothing outside the config', async () => {
    const { body: hook } = await create({
      config: {
        url: 'https://example.com/',
        content_type: 'json',
        secret: 's',
        insecure_ssl: '1',
      },
      retry: 'off',
      request_headers: { 'X-A': '1' },
    });
    expect(Object.values(hook.config).map((value) => typeof value)).toEqual(
      Object.keys(hook.config).map(() => 'string'),
    );
    const { status, body } = await change(hook.id, { config: { url: 'https://example.com/new' } });
    expect(status).toBe(200);
    expect(body.config).toEqual({ url: 'https://example.com/new', content_type: 'form', insecure_ssl: '0' });
    expect(body).toMatchObject({ retry: 'off', request_headers: { 'X-A': '********' } });
    expect(await change(hook.id, { retry: 'on', request_headers: {} })).toMatchObject({
      body: { config: body.config, retry: 'on', request_headers: {} },
    });
  });

  test('keeps the URL when its config has none', async () => {
    const { body: hook } = await create({ config: { url: 'https://example.com/', content_type: 'json', secret: 's' } });
    expect((await change(hook.id, { config: {} })).body.config).toEqual({
      url: 'https://example.com/',
      content_type: 'form',
      insecure_ssl: '0',
    });
    expect(await change(hook.id, { config: { url: '' } })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'url', message: 'url cannot be blank' }] },
    });
  });

  test('keeps secrets that clients send back masked', async () => {
    const { body: hook } = await create({
      config: { url: 'https://example.com/', secret: 's' },
      request_headers: { 'X-A': 'one', 'X-B': 'two' },
    });
    await change(hook.id, { config: hook.config, request_headers: { 'x-a': '********', 'X-C': 'three' } });
    expect(await storedSecrets(hook.id)).toEqual({ secret: 's', headers: { 'x-a': 'one', 'X-C': 'three' } });
  });

  test('by the config route merges', async () => {
    const { body: hook } = await create({
      config: { url: 'https://example.com/', secret: 's' },
      request_headers: { 'X-A': 'one' },
    });
    const changed = await change(hook.id, { content_type: 'json' }, '/config');
    expect(changed.body).toEqual({
      url: 'https://example.com/',
      content_type: 'json',
      insecure_ssl: '0',
      secret: '********',
    });
    expect(await storedSecrets(hook.id)).toEqual({ secret: 's', headers: { 'X-A': 'one' } });
    expect((await call(api, alice, 'GET', `${hooks}/${hook.id}/config`)).body).toEqual(changed.body);
    expect((await change(hook.id, { secret: '' }, '/config')).body.secret).toBeUndefined();
  });

  test('reads retry and headers in the config, their former place, for one release', async () => {
    const url = 'https://example.com/';
    const { body: hook } = await create({ config: { url, retry: 'off', headers: { 'X-A': 'one' } } });
    expect(hook).toMatchObject({ retry: 'off', request_headers: { 'X-A': '********' } });
    await change(hook.id, { retry: 'on', headers: { 'X-A': '********', 'X-B': 'two' } }, '/config');
    expect(await storedSecrets(hook.id)).toEqual({ secret: null, headers: { 'X-A': 'one', 'X-B': 'two' } });
    // Beside the config counts more.
    const both = { config: { url, retry: 'on', headers: {} }, retry: 'off', request_headers: { 'X-C': 'three' } };
    expect((await change(hook.id, both)).body).toMatchObject({ retry: 'off', request_headers: { 'X-C': '********' } });
  });

  test('replaces, adds and removes events', async () => {
    const { body: hook } = await create({ config: { url: 'https://example.com/' } });
    expect((await change(hook.id, { add_events: ['issues', 'push'] })).body.events).toEqual(['push', 'issues']);
    expect((await change(hook.id, { remove_events: ['push'] })).body.events).toEqual(['issues']);
    expect((await change(hook.id, { events: ['*'] })).body.events).toEqual(['*']);
    expect((await change(hook.id, { active: false })).body).toMatchObject({ active: false, events: ['*'] });
    expect(await change(hook.id, { add_events: ['no_such'] })).toMatchObject({ status: 422 });
  });

  test('of a hook that is being deleted finds none', async () => {
    const { body: hook } = await create({ config: { url: 'https://example.com/' } });
    const client = await api.sql.connect();
    try {
      await client.query('BEGIN');
      await client.query('DELETE FROM hooks WHERE id = $1', [hook.id]);
      const changing = change(hook.id, { active: false });
      await until('it waits', async () => {
        const { rowCount } = await api.sql.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rowCount! > 0;
      });
      await client.query('COMMIT');
      expect(await changing).toMatchObject({ status: 404 });
    } finally {
      client.release();
    }
  });

  test('ignores unknown keys that clients send along', async () => {
    const { body: hook } = await create({ config: { url: 'https://example.com/' } });
    expect(await change(hook.id, { ...hook, name: 'anything', active: false })).toMatchObject({
      status: 200,
      body: { active: false },
    });
  });
});

describe('the rules', () => {
  test('refuse a second hook with the same config for an event, and allow one for another event', async () => {
    const config = { url: 'https://example.com/', secret: 'same' };
    await create({ config });
    expect(await create({ config, events: ['issues', 'push'] })).toMatchObject({
      status: 422,
      body: {
        message: 'Validation Failed',
        errors: [{ resource: 'Hook', code: 'custom', message: 'Hook already exists on this repository' }],
        documentation_url: `${api.base}/docs#operation/repos/create-webhook`,
        status: '422',
      },
    });
    expect(await create({ config, events: ['*'] })).toMatchObject({ status: 422 });
    const other = await create({ config, events: ['issues'] });
    expect(other.status).toBe(201);
    expect(await change(other.body.id, { add_events: ['push'] })).toMatchObject({
      status: 422,
      body: { errors: [{ message: 'Hook already exists on this repository' }] },
    });
    expect(await create({ config: { ...config, secret: 'another' } })).toMatchObject({ status: 201 });
    expect(await create({ config }, '/repos/acme/gadgets/hooks')).toMatchObject({ status: 201 });
  });

  test('allow 20 hooks for an event, counting those for all events', async () => {
    for (let index = 0; index < 19; index += 1)
      await create({ config: { url: `https://example.com/${index}` }, events: ['push', 'issues'] });
    const all = await create({ config: { url: 'https://example.com/all' }, events: ['*'] });
    expect(all.status).toBe(201);
    const refused = (event: string) => ({
      resource: 'Hook',
      code: 'custom',
      field: 'events',
      message: 'Cannot have more than 20 webhooks',
      value: event,
    });
    const over = await create({ config: { url: 'https://example.com/over' }, events: ['push', 'star', 'issues'] });
    expect(over).toMatchObject({ status: 422, body: { message: 'Validation Failed', status: '422' } });
    expect(over.body.errors).toEqual([refused('push'), refused('issues')]);
    const overAll = await create({ config: { url: 'https://example.com/over' }, events: ['*'] });
    expect(overAll.body.errors).toEqual([refused('push'), refused('issues')]);

    const star = await create({ config: { url: 'https://example.com/star' }, events: ['star'] });
    expect(star.status).toBe(201);
    expect((await change(star.body.id, { add_events: ['push'] })).body.errors).toEqual([refused('push')]);
    expect(await change(all.body.id, { events: ['push'] })).toMatchObject({ status: 200 });
    expect(await change(all.body.id, { active: false })).toMatchObject({ status: 200 });
  });

  test('hold under 30 simultaneous creations', async () => {
    const same = await Promise.all(
      Array.from({ length: 30 }, () => createInTurn({ config: { url: 'https://example.com/same' } })),
    );
    expect(same.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1);
    const many = await Promise.all(
      Array.from({ length: 30 }, (_, index) => createInTurn({ config: { url: `https://example.com/${index}` } })),
    );
    expect(many.filter(({ status }) => status === 201)).toHaveLength(19);
    expect(many.filter(({ status }) => status === 422)).toHaveLength(11);
    expect((await call(api, alice, 'GET', `${hooks}?per_page=100`)).body).toHaveLength(20);
  });
});
