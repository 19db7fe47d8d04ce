/** What may not be a hook, and the words in which it is refused. */
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

describe('a hook is refused with', () => {
  test.each([
    'http://localhost/',
    'http://LOCALHOST./x',
    'https://api.localhost:8080/',
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f.0.0.1/',
    'http://2130706433/',
    'http://017700000001/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://0.0.0.0/',
    'http://[::]/',
  ])('the loopback address %s', async (url) => {
    expect(await create({ config: { url } })).toMatchObject({
      status: 422,
      body: {
        message: 'Validation Failed',
        errors: [{ resource: 'Hook', code: 'custom', field: 'url', message: 'URL host localhost is not supported' }],
        documentation_url: `${api.base}/docs#tag/local-receivers`,
      },
    });
  });

  test.each([
    'http://127.0.0.2:9000/',
    'http://[::1]/',
    'http://10.0.0.1/',
    'http://[fd00::1]/',
    'http://single-label/',
    'https://xn--mnchen-3ya.example/',
  ])('but not with %s, which is allowed or not a loopback address', async (url) => {
    expect(await create({ config: { url } })).toMatchObject({ status: 201, body: { config: { url } } });
  });

  test.each([
    ['ftp://example.com/', 'url must use http(s) scheme'],
    ['javascript:alert(1)', 'url must use http(s) scheme'],
    ['example.com/hook', 'url is missing a scheme'],
    ['example.com:8080/hook', 'url is missing a scheme'],
    ['', 'url cannot be blank'],
    ['https://user:100%@example.com/', expect.stringContaining('not valid')],
    ['https://user:a%0ab@example.com/', expect.stringContaining('not valid')],
    ['https://user:%ff@example.com/', expect.stringContaining('not valid')],
    ['https://user:pass@localhost/', 'URL host localhost is not supported'],
    ['https:/user:pass@example.com/', expect.stringContaining('not valid')],
    ['http://example.com:0/', expect.stringContaining('not valid')],
    ['https://example.com:00/', expect.stringContaining('not valid')],
    ['https://exa mple.com/', expect.stringContaining('not valid')],
    ['https://example.com/\u0000', expect.stringContaining('not valid')],
    ['https://example.com/\r\nX-Evil: 1', expect.stringContaining('not valid')],
    ['https://münchen.example/', expect.stringContaining('not valid')],
    ['https:///example.com', expect.stringContaining('not valid')],
    ['https://example.com:99999/', expect.stringContaining('not valid')],
    [`https://example.com/${'a'.repeat(3000)}`, expect.stringContaining('too long')],
  ])('the url %j', async (url, message) => {
    expect(await create({ config: { url } })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'url', message }] },
    });
  });

  test.each([
    [{ content_type: 'xml' }, 'content_type'],
    [{ insecure_ssl: 'yes' }, 'insecure_ssl'],
    [{ retry: 'sometimes' }, 'retry'],
    [{ request_headers: { 'X-GitHub-Event': 'push' } }, 'request_headers'],
    [{ request_headers: { Host: 'elsewhere' } }, 'request_headers'],
    [{ request_headers: { 'webhook-id': '1' } }, 'request_headers'],
    [{ request_headers: { 'Proxy-Authorization': 'x' } }, 'request_headers'],
    [{ request_headers: { 'Transfer-Encoding': 'chunked' } }, 'request_headers'],
    [{ request_headers: { 'X-Bad': 'a\r\nb' } }, 'request_headers'],
    [{ request_headers: { 'X Bad': 'a' } }, 'request_headers'],
    [{ request_headers: { 'x-a': '1', 'X-A': '2' } }, 'request_headers'],
    [
      { request_headers: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`X-${index}`, 'v'])) },
      'request_headers',
    ],
  ])('the config %j', async ({ request_headers, ...config }: Record<string, unknown>, field) => {
    const { status, body } = await create({ config: { url: 'https://example.com/', ...config }, request_headers });
    expect({ status, field: body.errors?.[0]?.field }).toEqual({ status: 422, field });
  });

  test('an unknown event, and a name that is not web', async () => {
    expect(await create({ config: { url: 'https://example.com/' }, events: ['push', 'nope'] })).toMatchObject({
      status: 422,
      body: {
        errors: [
          {
            resource: 'Hook',
            code: 'custom',
            field: 'events',
            value: 'nope',
            message: expect.stringContaining('EVENT_CATALOG_FILE'),
          },
        ],
      },
    });
    const { body } = await create({ name: 'email', config: { url: 'https://example.com/' } });
    expect(body.errors).toEqual([{ resource: 'Hook', field: 'name', code: 'invalid' }]);
  });

  test('the mask that GitHub shows in place of a secret', async () => {
    expect(await create({ config: { url: 'https://example.com/', secret: '********' } })).toMatchObject({
      status: 422,
      body: {
        message: 'Validation Failed',
        errors: [
          {
            resource: 'Hook',
            code: 'custom',
            field: 'secret',
            message: 'secret must not be ********, which only stands for one',
          },
        ],
      },
    });
  });

  // A hook copied by a program sent its receiver the mask as if it were the password.
  test.each([
    [
      'request_headers',
      { config: { url: 'https://example.com/' }, request_headers: { Authorization: '********' } },
      'request_headers must not hold ********, which only stands for a value',
    ],
    [
      'url',
      { config: { url: 'https://********:********@example.com/' } },
      'url must not hold ********, which only stands for a user name and password',
    ],
  ])('a mask that we show in %s, as in a hook copied from another place', async (field, hook, message) => {
    const errors = [{ resource: 'Hook', code: 'custom', field, message }];
    expect(await create(hook)).toMatchObject({ status: 422, body: { message: 'Validation Failed', errors } });
  });

  test('wrong JSON types, in GitHub’s words', async () => {
    const { status, body } = await create({ config: { url: 'https://example.com/' }, events: null });
    expect({ status, message: body.message, errors: body.errors }).toEqual({
      status: 422,
      message: "Invalid request.\n\nFor 'properties/events', nil is not an array.",
      errors: undefined,
    });
    expect((await create({ config: 'x' })).body.message).toBe(
      'Invalid request.\n\nFor \'properties/config\', "x" is not an object.',
    );
    expect((await create({ config: { url: 5 } })).body.message).toContain(
      "For 'properties/config/url', 5 is not a string.",
    );
  });

  test.each([
    [{ config: { secret: 5551234 } }, 'config/secret'],
    [{ config: { headers: { 'X-Api-Key': 5551234 } } }, 'config/headers/X-Api-Key'],
    [{ request_headers: { 'X-Api-Key': 5551234 } }, 'request_headers/X-Api-Key'],
  ])('a secret of a wrong JSON type, without repeating it: %j', async (hook, where) => {
    expect((await create(hook)).body.message).toBe(
      `Invalid request.\n\nFor 'properties/${where}', ******** is not a string.`,
    );
  });
});
