import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openReceiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { type Asked, gatepost, newFolder, openGate, Reply, start, usedUp } from './gate.ts';

test('`apps list` shows all applications, however many', async () => {
  const all = Array.from({ length: 1_150 }, (_, n) => ({ client_id: `app-${n}` }));
  await using gate = await openGate({
    '/api/v2/clients': ({ query }: Asked) => {
      if (query.has('page') && Number(query.get('page')) >= 10) return new Reply(400, { message: 'too far' });
      const from = Number(query.get('from') ?? 0) || 100 * Number(query.get('page') ?? 0);
      const clients = all.slice(from, from + 100);
      return query.has('take') ? { clients, ...(from + 100 < all.length && { next: String(from + 100) }) } : clients;
    },
  });
  const { code, out } = await gatepost(['apps', 'list', '--json'], gate.machine);
  expect([code, JSON.parse(out || '[]')]).toEqual([0, all]);
});

// At a gate without the connection of that name nobody could be created.
test('`users create` creates the account in the connection that is named', async () => {
  const made: unknown[] = [];
  await using gate = await openGate({
    '/api/v2/users': ({ body }: Asked) => {
      made.push(JSON.parse(body));
      return new Reply(201, { user_id: 'auth0|1' });
    },
  });
  const create = ['users', 'create', 'a@b.example', '--password-file', '-'];
  expect(await gatepost(create, gate.machine, 'p')).toMatchObject({ code: 0 });
  expect(await gatepost([...create, '--connection', 'people'], gate.machine, 'p')).toMatchObject({ code: 0 });
  const account = { email: 'a@b.example', password: 'p' };
  expect(made).toEqual([
    { ...account, connection: 'Username-Password-Authentication' },
    { ...account, connection: 'people' },
  ]);
});

test('`organizations delete --dry-run` says in words what would be deleted, and deletes nothing', async () => {
  const asked: string[] = [];
  const held = { repositories: 2, hooks: 3, members: 4, oauth_app_approvals: 0, waiting: 5, deliveries: 6 };
  await using gate = await openGate({
    '/admin/organizations/acme': ({ method, query }: Asked) => {
      asked.push(`${method} ${query}`);
      return { dry_run: true, organization: 'acme', ...held };
    },
  });
  const { code, out } = await gatepost(['organizations', 'delete', 'acme', '--dry-run'], gate.machine);
  expect({ code, out, asked }).toEqual({
    code: 0,
    out: 'acme has 2 repositories, 3 hooks, 4 members and 5 waiting deliveries; 6 deliveries in the log are of it. Nothing is deleted.\n',
    asked: ['DELETE dry_run=true'],
  });
});

test('`organizations delete` that can ask nobody ends with 2, and has deleted nothing', async () => {
  const asked: string[] = [];
  await using gate = await openGate({
    '/admin/organizations/acme': ({ method, query }: Asked) => {
      asked.push(`${method} ${query}`);
      return { dry_run: true, organization: 'acme', repositories: 2, hooks: 3 };
    },
  });
  expect(await gatepost(['organizations', 'delete', 'acme'], gate.machine)).toMatchObject({ code: 2, out: '' });
  expect(asked).toEqual(['DELETE dry_run=true']);
});

const whsec = (bytes: number) => `whsec_${Buffer.alloc(bytes, 'k').toString('base64')}`;

test.each([
  [whsec(23), false],
  [whsec(24), true],
  [whsec(64), true],
  [whsec(65), false],
  ['whsec_', false],
  ['change me', false],
])('with the secret %s `verify` signs as deliveries do: webhook-signature is sent: %p', async (secret, isSent) => {
  await using receiver = await openReceiver({ host: '127.0.0.1', behave: { status: 401 } });
  await gatepost(['verify', receiver.url, '--secret', secret], {});
  const [{ headers } = { headers: {} }] = receiver.received;
  expect(headers).toHaveProperty('x-hub-signature-256');
  expect('webhook-signature' in headers).toBe(isSent);
});

test('`hooks create` says when a secret that begins with whsec_ makes no webhook-signature', async () => {
  const hook = { id: 1, active: true, events: ['push'], retry: 'on', config: { url: 'u', content_type: 'json' } };
  await using gate = await openGate({ '/repos/a/b/hooks': () => new Reply(201, hook) });
  const create = ['hooks', 'create', 'u', '--repo', 'a/b', '--secret-file', '-', '--json'];
  expect(await gatepost(create, gate.machine, whsec(24))).toMatchObject({ code: 0, err: '' });
  expect(await gatepost(create, gate.machine, whsec(23))).toMatchObject({
    code: 0,
    err: 'No webhook-signature is sent: after whsec_ the secret is not the base64 of 24 to 64 bytes.\n',
  });
});

test('`trigger` fails when a hook refuses, and says which', async () => {
  const hook = { active: true, events: ['push'], config: {} };
  await using gate = await openGate({
    '/repos/a/b/hooks': () => [
      { ...hook, id: 1 },
      { ...hook, id: 2, config: { secret: '********' } },
    ],
    '/repos/a/b/hooks/1/triggers': () => ({ id: 7, guid: 'g' }),
    '/repos/a/b/hooks/2/triggers': () => new Reply(422, { message: 'The secret is missing' }),
  });
  const payload = path.join(newFolder(), 'payload.json');
  writeFileSync(payload, '{}');
  const trigger = ['trigger', 'push', '--repo', 'a/b', '--payload', payload, '--json'];
  const { code, out, err } = await gatepost(trigger, gate.machine);
  expect([code, JSON.parse(out)]).toEqual([
    1,
    [
      { hook: 1, delivery: 7, guid: 'g' },
      { hook: 2, error: expect.stringContaining('hook 2: The secret is missing') },
    ],
  ]);
  expect(err).toContain('gatepost: 1 of 2 hooks are not known to get it\n  Give its secret: --secret-file FILE');
});

test('`trigger` says which hooks have the event when others are gone, or the API goes away', async () => {
  const hook = { active: true, events: ['push'], config: {} };
  const asked: number[] = [];
  const triggers = (id: number, answer: Reply) => ({
    [`/repos/a/b/hooks/${id}/triggers`]: () => {
      asked.push(id);
      return answer;
    },
  });
  const away = new Reply(503, { message: 'Service Unavailable' });
  await using gate = await openGate({
    '/repos/a/b/hooks': () => [1, 2, 3, 4].map((id) => ({ ...hook, id })),
    '/repos/a/b/hooks/3': () => ({ ...hook, id: 3 }),
    ...triggers(1, new Reply(201, { id: 7, guid: 'g' })),
    ...triggers(2, new Reply(404, { message: 'Not Found' })),
    ...triggers(3, away),
    ...triggers(4, new Reply(201, { id: 8, guid: 'h' })),
  });
  const payload = path.join(newFolder(), 'payload.json');
  writeFileSync(payload, '{}');
  const trigger = ['trigger', 'push', '--repo', 'a/b', '--payload', payload];
  const { code, out, err } = await gatepost([...trigger, '--json'], gate.machine);
  expect([code, JSON.parse(out || '[]')]).toEqual([
    1,
    [
      { hook: 1, delivery: 7, guid: 'g' },
      { hook: 2, error: expect.stringContaining('hook 2: Not Found') },
      { hook: 3, error: expect.stringContaining('hook 3: Service Unavailable') },
    ],
  ]);
  expect(err).toContain('gatepost: 3 of 4 hooks are not known to get it\n');
  expect(err).toContain('  Only these, one at a time: --hook 2, --hook 3, --hook 4\n');
  expect(asked).toEqual([1, 2, 3]);
  expect(await gatepost([...trigger, '--hook', '3'], gate.machine)).toMatchObject({ code: 6, out: '' });
});

test('`deliveries redeliver` says what is on its way when others are refused, or the API goes away', async () => {
  const asked: string[] = [];
  const attempt = (id: string, status: number, message = '') => ({
    [`/repos/a/b/hooks/1/deliveries/${id}/attempts`]: () => {
      asked.push(id);
      return new Reply(status, { message });
    },
  });
  await using gate = await openGate({
    ...attempt('5', 202),
    ...attempt('6', 422, 'Its event is no longer stored'),
    ...attempt('7', 202),
    ...attempt('8', 503, 'Service Unavailable'),
    ...attempt('9', 202),
  });
  const redeliver = (...ids: string[]) =>
    gatepost(['deliveries', 'redeliver', '1', ...ids, '--repo', 'a/b', '--json'], gate.machine);
  const { code, out, err } = await redeliver('5', '6', '7', '8', '9');
  expect([code, JSON.parse(out)]).toEqual([
    1,
    {
      redelivered: [5, 7],
      refused: [
        { delivery: 6, error: expect.stringContaining('Its event is no longer stored') },
        { delivery: 8, error: expect.stringContaining('Service Unavailable') },
      ],
    },
  ]);
  expect(err).toContain('gatepost: 3 of 5 are not known to be on their way\n  Try again in a moment.\n');
  expect(err).toContain('  Only these: gatepost deliveries redeliver 1 6 8 9 --repo a/b\n');
  expect(asked).toEqual(['5', '6', '7', '8']);
  expect(await redeliver('8', '9')).toMatchObject({ code: 6, out: '' });
});

test('a command beyond the limit of requests says when it ends, and ends with 6', async () => {
  await using gate = await openGate({ '/user': () => usedUp(1_800_000_000) });
  expect(await gatepost(['whoami'], gate.machine)).toEqual({
    code: 6,
    out: '',
    err: 'gatepost: API rate limit exceeded for ci. (GET /user: 403)\n  Try again at 2027-01-15T08:00:00.000Z.\n',
  });
});

test('`deliveries tail` waits for the end of a limit of requests', async () => {
  let reset = 0;
  const asked: number[] = [];
  const item = { id: 1, guid: 'g', event: 'push', action: null, status: 'OK', status_code: 200, duration: 0.1 };
  await using gate = await openGate({
    '/repos/a/b/hooks/1/deliveries': () => {
      asked.push(Date.now() / 1000);
      if (asked.length === 1) return [];
      if (asked.length > 2) return [{ ...item, delivered_at: '2026-11-27T12:00:00.000Z' }];
      reset = Math.ceil(Date.now() / 1000) + 3;
      return usedUp(reset);
    },
    '/repos/a/b/hooks/1/deliveries/stream': () => ':\n\n',
  });
  const tail = ['deliveries', 'tail', '1', '--repo', 'a/b', '--interval', '1', '--count', '1', '--json'];
  const { code, err } = await gatepost(tail, gate.machine);
  expect([code, asked.length]).toEqual([0, 3]);
  expect(asked[2]).toBeGreaterThanOrEqual(reset);
  expect(err).toContain(
    `(GET /repos/a/b/hooks/1/deliveries: 403); trying again at ${new Date(reset * 1000).toISOString()}\n`,
  );
});

test('`log-level` names the variable with the token that the ops port wants', async () => {
  await using process = await openGate({
    '/log-level': () => new Reply(401, { error: 'needs OPS_TOKEN as a bearer token' }),
  });
  expect(await gatepost(['log-level', process.url], { GATEPOST_OPS_TOKEN: 'wrong' })).toEqual({
    code: 3,
    out: '',
    err: 'gatepost: needs OPS_TOKEN as a bearer token (GET /log-level: 401)\n  The ops port has a token of its own: put it into GATEPOST_OPS_TOKEN.\n',
  });
});

test('commands that are shown name the repository or organization that was given', async () => {
  await using gate = await openGate({
    '/orgs/a/hooks/1': () => ({ active: true }),
    '/orgs/a/hooks/1/pings': () => ({}),
    '/orgs/a/hooks/1/deliveries/replays': () => ({ id: 3, ended_at: null }),
    '/repos/a/b/hooks/1/deliveries/7/attempts': () => ({}),
  });
  const shown = async (...args: string[]) => (await gatepost(args, gate.machine)).out;
  expect(await shown('hooks', 'ping', '1', '--org', 'a')).toContain('gatepost deliveries list 1 --org a shows');
  const replay = await shown('deliveries', 'replay', '1', '--org', 'a', '--since', '1h', '--no-wait');
  expect(replay).toContain('gatepost deliveries replays 1 --org a shows');
  expect(replay).toContain('gatepost deliveries replay-stop 1 3 --org a ends');
  const again = ['deliveries', 'redeliver', '1', '7'];
  expect(await shown(...again, '--repo', 'a/b')).toContain('gatepost deliveries tail 1 --repo a/b\n');
  const { out } = await gatepost(again, { ...gate.machine, GATEPOST_REPO: 'a/b' });
  expect(out).toContain('gatepost deliveries tail 1\n');
});

// 12345678901234567890 was shown as 12345678901234567000.
test('`deliveries show` shows the numbers of a payload as they were sent', async () => {
  const item = { id: 7, guid: 'g', event: 'push', action: null, status: 'OK', status_code: 200, duration: 0.1 };
  const more = {
    url: 'u',
    delivered_at: '2026-11-27T12:00:00.000Z',
    attempt: 1,
    response: { headers: {}, payload: '' },
  };
  const text = JSON.stringify({ ...item, ...more, request: { headers: {}, payload: { id: 'here' } } });
  await using gate = await openGate({
    '/repos/a/b/hooks/1/deliveries/7': () => new Reply(200, text.replace('"here"', '12345678901234567890')),
  });
  const show = ['deliveries', 'show', '1', '7', '--repo', 'a/b'];
  for (const line of [show, [...show, '--json']]) {
    const { code, out } = await gatepost(line, gate.machine);
    expect([code, /"id": ?(\d{9,})/.exec(out)?.[1]]).toEqual([0, '12345678901234567890']);
  }
});

test('`deliveries list` says truly what there is beyond what it shows', async () => {
  const item = (id: number) => ({
    ...{ id, guid: 'g', event: 'push', action: null, delivered_at: '2026-11-27T12:00:00.000Z' },
    ...{ status: 'OK', status_code: 200, duration: 0.1, attempt: 1, redelivery: false, sequence: id },
  });
  await using gate = await openGate({
    '/repos/a/b/hooks/1/deliveries': ({ query }: Asked) =>
      query.has('status') ? [] : Array.from({ length: 101 }, (_, index) => item(index + 1)),
    '/repos/a/b/hooks/2/deliveries': () => [],
  });
  const said = async (...args: string[]) =>
    (await gatepost(['deliveries', 'list', ...args, '--repo', 'a/b'], gate.machine)).err;
  expect(await said('1', '--status', 'failure')).toBe('There are no such deliveries.\n');
  expect(await said('2')).toMatch(/^Nothing has been delivered there yet/);
  expect(await said('1', '--limit', '50')).toBe('There are more: --limit 100 shows further back.\n');
  expect(await said('1', '--limit', '50', '--after-sequence', '0')).toBe(
    'There are more: --limit 100 shows what follows.\n',
  );
});

test.each([
  [[], 'There are more, further back.\n'],
  [['--after-sequence', '0'], 'There are more: --after-sequence 9999 goes on from there.\n'],
])('`deliveries list --limit 10000 %s` names no limit that is refused', async (more, said) => {
  const item = { guid: 'g', event: 'push', action: null, delivered_at: '2026-11-27T12:00:00.000Z', duration: 0.1 };
  await using gate = await openGate({
    '/repos/a/b/hooks/1/deliveries': () =>
      Array.from({ length: 10_001 }, (_, n) => ({ ...item, id: n + 1, sequence: n + 1, status: 'OK' })),
  });
  const list = ['deliveries', 'list', '1', '--repo', 'a/b', '--limit', '10000', ...more];
  expect(await gatepost(list, gate.machine)).toMatchObject({ code: 0, err: said });
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a command that waits for an answer, or for its input, with %i', async (signal, code) => {
  const asked: string[] = [];
  await using gate = await openGate({
    '/.well-known/oauth-protected-resource': () => {
      asked.push('place');
      return { resource: `${gate.url}/`, authorization_servers: [`${gate.url}/`] };
    },
    '/user': () => {
      asked.push('user');
      return new Promise(() => {});
    },
  });
  const waiting = start(['whoami'], gate.machine);
  await until('the request', () => asked.includes('user'));
  waiting.child.kill(signal);
  expect(await waiting.ended).toEqual({ code, out: '', err: '' });

  asked.length = 0;
  const reading = start(['login', '--with-token', '--api', gate.url], {});
  await until('it reads', () => asked.includes('place'));
  reading.child.kill(signal);
  expect(await reading.ended).toEqual({ code, out: '', err: '' });
});

// It said that the previous one ended by itself, even to somebody who rotates because it has leaked.
test('`apps rotate-secret` says how long the previous secret stays valid', async () => {
  await using gate = await openGate({
    '/api/v2/clients/shop/rotate-secret': () => ({ client_id: 'shop', client_secret: 'new' }),
  });
  expect(await gatepost(['apps', 'rotate-secret', 'shop', '--yes'], gate.machine)).toMatchObject({
    code: 0,
    out: expect.stringContaining('new'),
    err: expect.stringContaining('The previous one stays valid until you rotate again.'),
  });
});
