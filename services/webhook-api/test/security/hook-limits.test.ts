/** How much one place may hold: hooks that no event limit counts, and configs that fill memory. */
import { makeSeal } from '@gatepost/runtime/seal';
import { hookHeadersPurpose } from '@gatepost/webhook-db/secrets';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Called, call, openApi } from '../support/api.ts';

const places = ['/repos/acme/widgets/hooks', '/orgs/acme/hooks'] as const;
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const api = stack.use(await openApi({ RATE_LIMIT_PER_HOUR: '0' }));
const alice = await api.tokens.user('auth0|alice', 'repo admin:org_hook');
beforeEach(async () => {
  await api.sql.query('DELETE FROM hooks');
});

const create = (place: string, name: string, more: object = {}): Promise<Called> =>
  call(api, alice, 'POST', place, {
    name: 'web',
    config: { url: `https://example.com/${name}` },
    events: [],
    active: false,
    ...more,
  });

/** Hooks as they stood in a place before there was a limit. */
async function fill(place: string, count: number, events = '{}'): Promise<void> {
  const repository = place.startsWith('/repos/') ? "(SELECT id FROM repositories WHERE name = 'widgets')" : 'NULL';
  await api.sql.query(
    `INSERT INTO hooks (account_id, repository_id, events, url, content_type, active, created_by)
     SELECT a.id, ${repository}, $2, 'https://example.com/old/' || n, 'form', n % 2 = 0, 'x'
       FROM accounts a, generate_series(1, $1) n WHERE a.login = 'acme'`,
    [count, events],
  );
}

const tooMany = {
  status: 422,
  body: {
    message: 'Validation Failed',
    errors: [{ resource: 'Hook', code: 'custom', message: 'Cannot have more than 250 webhooks' }],
  },
};

describe.each(places)('%s', (place) => {
  test('takes at most 250 hooks, active or not, whatever they subscribe to', async () => {
    // What used to happen: hooks with `events: []` count for no event, so there was no limit at all.
    await fill(place, 249);
    expect(await create(place, 'last')).toMatchObject({ status: 201 });
    expect(await create(place, 'over')).toMatchObject(tooMany);
    expect(await create(place, 'active', { active: true, events: ['issues'] })).toMatchObject(tooMany);
    const { body } = await call(api, alice, 'GET', `${place}?per_page=1`);
    expect(await call(api, alice, 'DELETE', `${place}/${body[0].id}`)).toMatchObject({ status: 204 });
    expect(await create(place, 'again')).toMatchObject({ status: 201 });
  });

  test('keeps to the limit under parallel creations', async () => {
    await fill(place, 240);
    const statuses: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => statuses.push((await create(place, `${index}`)).status)),
    );
    expect(statuses.sort()).toEqual([...Array(10).fill(201), ...Array(10).fill(422)]);
  });

  test('with more hooks than the limit can list, change and delete them, but not add any', async () => {
    await fill(place, 1_200);
    const seen = new Set<number>();
    for (let page = 1; page <= 12; page += 1) {
      const { status, body } = await call(api, alice, 'GET', `${place}?per_page=100&page=${page}`);
      expect(status).toBe(200);
      for (const { id } of body) seen.add(id);
    }
    expect(seen.size).toBe(1_200);
    const [id] = seen;
    expect(await call(api, alice, 'PATCH', `${place}/${id}`, { events: ['push'], active: true })).toMatchObject({
      status: 200,
      body: { events: ['push'], active: true },
    });
    expect(
      await call(api, alice, 'PATCH', `${place}/${id}/config`, { url: 'https://example.com/moved' }),
    ).toMatchObject({
      status: 200,
    });
    expect(await create(place, 'new')).toMatchObject(tooMany);
    expect(await call(api, alice, 'DELETE', `${place}/${id}`)).toMatchObject({ status: 204 });
  });

  test('still finds duplicates and full events among many hooks', async () => {
    await fill(place, 200);
    await fill(place, 20, '{push}');
    expect(await create(place, 'x', { events: ['push'] })).toMatchObject({
      body: { errors: [{ message: 'Cannot have more than 20 webhooks', value: 'push' }] },
    });
    expect(await create(place, 'x', { events: ['*'] })).toMatchObject({
      body: { errors: [{ message: 'Cannot have more than 20 webhooks', value: 'push' }] },
    });
    const config = { url: 'https://example.com/same', secret: 'one' };
    expect(await create(place, '', { config, events: ['issues'] })).toMatchObject({ status: 201 });
    expect(await create(place, '', { config, events: ['issues'] })).toMatchObject({
      body: { errors: [{ message: expect.stringContaining('Hook already exists') }] },
    });
    expect(await create(place, '', { config: { ...config, secret: 'two' }, events: ['issues'] })).toMatchObject({
      status: 201,
    });
  });
});

describe('a config', () => {
  const headersOf = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, 'v'.repeat(4096)]));
  const tooLarge = {
    status: 422,
    body: {
      message: 'Validation Failed',
      errors: [
        { resource: 'Hook', code: 'custom', field: 'config', message: 'config is too large (maximum is 65536 bytes)' },
      ],
    },
  };
  const url = 'https://example.com/large';

  test('has at most 64 kB, by every route', async () => {
    expect(await create(places[0], '', { config: { url }, request_headers: headersOf(16) })).toMatchObject(tooLarge);
    const { status, body } = await create(places[0], '', { config: { url }, request_headers: headersOf(15) });
    expect(status).toBe(201);
    const path = `${places[0]}/${body.id}`;
    expect(await call(api, alice, 'PATCH', path, { config: { url }, request_headers: headersOf(16) })).toMatchObject(
      tooLarge,
    );
    expect(await call(api, alice, 'PATCH', `${path}/config`, { headers: headersOf(20) })).toMatchObject(tooLarge);
    const grown = { secret: 's'.repeat(1024), url: `https://example.com/${'u'.repeat(2_000)}`, headers: undefined };
    expect(await call(api, alice, 'PATCH', `${path}/config`, grown)).toMatchObject({ status: 200 });
    const kept = Object.fromEntries(Object.keys(headersOf(15)).map((name) => [name, '********']));
    expect(
      await call(api, alice, 'PATCH', `${path}/config`, { headers: { ...kept, 'X-More': 'v'.repeat(3000) } }),
    ).toMatchObject(tooLarge);
  });

  test('that is already larger can still be switched off and made smaller', async () => {
    const { body } = await create(places[0], '', { config: { url }, request_headers: headersOf(15) });
    const seal = makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64'));
    await api.sql.query('UPDATE hooks SET headers = $1', [
      seal.seal(JSON.stringify(headersOf(20)), hookHeadersPurpose),
    ]);
    const path = `${places[0]}/${body.id}`;
    expect(await call(api, alice, 'PATCH', path, { active: true })).toMatchObject({ status: 200 });
    expect(await call(api, alice, 'PATCH', `${path}/config`, { content_type: 'json' })).toMatchObject({ status: 200 });
    expect(await call(api, alice, 'PATCH', `${path}/config`, { secret: 'a longer one' })).toMatchObject(tooLarge);
    expect(await call(api, alice, 'PATCH', `${path}/config`, { headers: headersOf(2) })).toMatchObject({ status: 200 });
  });

  test('of each of a hundred hooks is shown without holding all of them in memory', async () => {
    await fill(places[0], 100);
    const seal = makeSeal(Buffer.from(api.env.SECRETS_KEY!, 'base64'));
    await api.sql.query('UPDATE hooks SET headers = $1 WHERE id % 3 = 0', [
      seal.seal(JSON.stringify(headersOf(15)), hookHeadersPurpose),
    ]);
    const { status, body } = await call(api, alice, 'GET', `${places[0]}?per_page=100`);
    expect(status).toBe(200);
    expect(body).toHaveLength(100);
    for (const { id, request_headers } of body) {
      expect(Object.keys(request_headers)).toHaveLength(id % 3 === 0 ? 15 : 0);
      const { body: alone } = await call(api, alice, 'GET', `${places[0]}/${id}`);
      expect(alone.request_headers).toEqual(request_headers);
    }
  });
});
