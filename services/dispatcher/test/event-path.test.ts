import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { verify } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import { publishByAmqp10 } from './amqp-1.0.ts';
import { type Dispatcher, openWorld, type World } from './world.ts';

const secret = "It's a Secret to Everybody – ünïcode";

describe('the path of an event', () => {
  let world: World;
  let receiver: Receiver;
  let dispatcher: Dispatcher;

  beforeAll(async () => {
    world = await openWorld();
    receiver = await openReceiver();
    await world.addAccount('Acme', ['Widgets', 'gadgets']);
    dispatcher = await world.start();
  });
  afterAll(async () => {
    expect(await dispatcher?.stop()).toBe(0);
    await receiver?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });
  const receivedOf = (guid: string) => receiver.received.filter((one) => one.headers['x-github-delivery'] === guid);

  test('an event reaches the hook of its repository, signed, byte for byte', async () => {
    const hookId = await world.addHook('acme', {
      repository: 'widgets',
      url: `${receiver.url}/a?b=c`,
      secret,
      events: ['issues'],
    });
    const payload = '{ "action":"opened",  "n": 12345678901234567890, "title":"äöü \\u2603 ☃" }';
    const guid = await world.publish({ payload });
    const [row] = await world.deliveries(guid);

    const [request] = receivedOf(guid);
    expect(request?.method).toBe('POST');
    expect(request?.path).toBe('/a?b=c');
    expect(request?.body.toString()).toBe(payload);
    expect(await verify(secret, payload, request!.headers['x-hub-signature-256']!)).toBe(true);
    const { rows } = await world.pool.query("SELECT id FROM repositories WHERE name = 'Widgets'");
    expect(request?.headers).toMatchObject({
      accept: '*/*',
      'content-type': 'application/json',
      'x-github-event': 'issues',
      'x-github-hook-id': String(hookId),
      'x-github-hook-installation-target-id': String(rows[0].id),
      'x-github-hook-installation-target-type': 'repository',
      'webhook-id': guid,
    });
    expect(request?.headers['user-agent']).toMatch(/^Gatepost-Hookshot\//);
    expect(request?.headers['x-hub-signature']).toMatch(/^sha1=[0-9a-f]{40}$/);
    expect(request?.rawHeaders).toContain('X-Hub-Signature-256');
    expect(request?.headers).not.toHaveProperty('webhook-signature');
    expect(request?.headers).not.toHaveProperty('accept-encoding');

    expect(row).toMatchObject({
      hook_id: hookId,
      status: 'OK',
      status_code: 200,
      error: null,
      attempt: 1,
      redelivery: false,
      throttled_at: null,
      url: `${receiver.url}/a?b=c`,
    });
    expect(row?.request_headers['X-Hub-Signature-256']).toBe(request?.headers['x-hub-signature-256']);
    expect(row?.timings).toMatchObject({ total: expect.any(Number), first_byte: expect.any(Number) });
    await world.pool.query('DELETE FROM hooks');
  });

  test('an organization hook gets events of every repository and of the organization; a hook of another repository gets none', async () => {
    await world.addHook('acme', { url: `${receiver.url}/org` });
    await world.addHook('acme', { repository: 'gadgets', url: `${receiver.url}/gadgets` });
    const ofWidgets = await world.publish({ type: 'push', payload: {} });
    const ofGadgets = await world.publish({ type: 'push', subject: 'ACME/Gadgets', payload: {} });
    const ofAcme = await world.publish({ type: 'team', subject: 'acme', payload: {} });
    await world.deliveries(ofWidgets);
    await world.deliveries(ofGadgets, 2);
    await world.deliveries(ofAcme);
    expect(receivedOf(ofWidgets).map((one) => one.path)).toEqual(['/org']);
    expect(
      receivedOf(ofGadgets)
        .map((one) => one.path)
        .sort(),
    ).toEqual(['/gadgets', '/org']);
    expect(receivedOf(ofAcme).map((one) => one.path)).toEqual(['/org']);
    expect(receivedOf(ofAcme)[0]?.headers['x-github-hook-installation-target-type']).toBe('organization');
    await world.pool.query('DELETE FROM hooks');
  });

  test('a form hook gets the payload form-encoded and signed as encoded, and no Standard Webhooks signature without a whsec_ secret', async () => {
    await world.addHook('acme', { repository: 'widgets', url: receiver.url, contentType: 'form', secret: 'deadbeef' });
    const payload = '{"a":"ä + b & c=~*"}';
    const guid = await world.publish({ payload });
    await world.deliveries(guid);
    const [request] = receivedOf(guid);
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(new URLSearchParams(request!.body.toString()).get('payload')).toBe(payload);
    expect(await verify('deadbeef', request!.body.toString(), request!.headers['x-hub-signature-256']!)).toBe(true);
    expect(request?.headers).not.toHaveProperty('webhook-signature');
    await world.pool.query('DELETE FROM hooks');
  });

  test('a whsec_ secret makes both GitHub’s and the Standard Webhooks signature', async () => {
    const whsec = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    await world.addHook('acme', { repository: 'widgets', url: receiver.url, secret: whsec, headers: { 'X-Own': 'v' } });
    const guid = await world.publish({ payload: { a: 1 } });
    const [row] = await world.deliveries(guid);
    const [request] = receivedOf(guid);
    expect(new Webhook(whsec).verify(request!.body.toString(), request!.headers)).toEqual({ a: 1 });
    expect(await verify(whsec, request!.body.toString(), request!.headers['x-hub-signature-256']!)).toBe(true);
    expect(request?.headers['x-own']).toBe('v');
    expect(row?.request_headers['X-Own']).toBe('********');
    await world.pool.query('DELETE FROM hooks');
  });

  test('a delivery to a hook without a secret has no signature', async () => {
    await world.addHook('acme', { repository: 'widgets', url: receiver.url });
    const guid = await world.publish({});
    await world.deliveries(guid);
    const names = Object.keys(receivedOf(guid)[0]!.headers);
    expect(names.filter((name) => name.includes('signature'))).toEqual([]);
  });

  // The API keeps them apart and sealed (services/webhook-api/test/octokit.test.ts); in older rows they stand in the URL.
  test('user name and password in an old hook’s URL are sent as basic authentication, unless the hook has its own Authorization header', async () => {
    const url = receiver.url.replace('://', '://us%40er:p%C3%A4ss@');
    const repository = 'gadgets';
    const ids = [
      await world.addHook('acme', { repository, url: `${url}/plain` }),
      await world.addHook('acme', { repository, url: `${url}/own`, headers: { authorization: 'Bearer own' } }),
    ];
    const guid = await world.publish({ subject: 'acme/gadgets' });
    const rows = await world.deliveries(guid, 2);
    const authorizationAt = (path: string) => receivedOf(guid).find((one) => one.path === path)?.headers.authorization;
    expect(authorizationAt('/plain')).toBe(`Basic ${Buffer.from('us@er:päss').toString('base64')}`);
    expect(authorizationAt('/own')).toBe('Bearer own');
    expect(JSON.stringify(rows)).not.toMatch(/us%40er|us@er|p%C3%A4ss|päss|Basic/);
    expect(rows.find(({ hook_id }) => hook_id === ids[0])?.request_headers).toMatchObject({
      Authorization: '********',
    });
    await world.pool.query('DELETE FROM hooks WHERE id = ANY ($1)', [ids]);
  });

  test('a payload too large to travel with its job arrives whole', async () => {
    const payload = JSON.stringify({ big: 'x'.repeat(3_000_000) });
    const guid = await world.publish({ payload });
    await world.deliveries(guid);
    expect(receivedOf(guid)[0]?.body.equals(Buffer.from(payload))).toBe(true);
  });

  test('an event published by AMQP 1.0 in structured mode is delivered, its payload byte for byte', async () => {
    const data = '{ "action":"opened",  "n": 12345678901234567890 }';
    const attributes = {
      specversion: '1.0',
      id: '6f9619ff-8b86-4011-b42d-00c04fc964ff',
      source: 'urn:amqp-1.0',
      type: 'issues',
      subject: 'acme/widgets',
      time: new Date().toISOString(),
    };
    const body = Buffer.from(`${JSON.stringify(attributes).slice(0, -1)},"data":${data}}`);
    await publishByAmqp10(world.amqpUrl, 'issues', 'application/cloudevents+json', body);
    await world.deliveries(attributes.id);
    expect(receivedOf(attributes.id)[0]?.body.toString()).toBe(data);
  });

  test('a second message with the same source and id is dropped as a duplicate', async () => {
    const guid = await world.publish({ source: 'urn:one' });
    await world.publish({ source: 'urn:one', id: guid });
    await world.deliveries(guid);
    await world.publish({ source: 'urn:one', id: guid });
    const after = await world.publish({ source: 'urn:two', id: guid });
    await world.deliveries(after, 2); // the other source's event has the same id, hence the same guid
    await until('duplicates counted', async () => (await dispatcher.metric(/result="duplicate"/)) === 2);
    expect(receivedOf(guid)).toHaveLength(2);
  });

  test('a duplicate of yesterday, less than 24 hours ago, is dropped too', async () => {
    const guid = await world.publish({});
    await world.deliveries(guid);
    await world.pool.query(
      `UPDATE events SET received_on = received_on - 1, received_at = received_at - interval '23 hours' WHERE guid = $1`,
      [guid],
    );
    await world.publish({ id: guid });
    await until('the duplicate counted', async () => (await dispatcher.metric(/result="duplicate"/)) === 3);
    expect(receivedOf(guid)).toHaveLength(1);
  });

  test('a push of three tags is delivered, a push of more is not', async () => {
    const many = await world.publish({ type: 'push', headers: { 'cloudEvents:tagspushed': 4 } });
    const few = await world.publish({ type: 'push', headers: { 'cloudEvents:tagspushed': '3' } });
    const other = await world.publish({ type: 'issues', headers: { 'cloudEvents:tagspushed': 4 } });
    await world.deliveries(few);
    await world.deliveries(other);
    await until('counted', async () => (await dispatcher.metric(/result="too_many_tags"/)) === 1);
    expect(receivedOf(many)).toEqual([]);
  });

  test('an event that matches no hook is stored with its subject and the reason, and counted by that reason', async () => {
    const kept = await Promise.all([
      world.publish({ type: 'push', subject: 'nobody/widgets' }),
      world.publish({ type: 'push', subject: 'Acme/nothing' }),
      world.publish({ type: 'watch', subject: 'acme' }),
      world.publish({ type: 'push', headers: { 'cloudEvents:tagspushed': 4 } }),
    ]);
    const reasons = await until('all four', async () => {
      const { rows } = await world.pool.query<{ guid: string; unmatched: string | null; subject: string | null }>(
        'SELECT guid, unmatched, subject FROM events WHERE guid = ANY ($1)',
        [kept],
      );
      return rows.length === 4 && kept.map((guid) => rows.find((row) => row.guid === guid)!);
    });
    expect(reasons.map(({ unmatched, subject }) => [unmatched, subject])).toEqual([
      ['unknown_account', 'nobody/widgets'],
      ['unknown_repository', 'acme/nothing'],
      ['no_hook', 'acme'],
      ['too_many_tags', 'acme/widgets'],
    ]);
    for (const reason of ['unknown_account', 'unknown_repository'])
      await until(reason, async () => (await dispatcher.metric(new RegExp(`reason="${reason}"`))) === 1);
  });

  test('a hook that is disabled, or whose app the organization restricts, gets no deliveries; an approval brings them back', async () => {
    await world.pool.query('DELETE FROM hooks');
    await world.addHook('acme', { url: `${receiver.url}/off`, active: false });
    await world.addHook('acme', { url: `${receiver.url}/app`, createdByApp: 'app' });
    await world.addHook('acme', { url: `${receiver.url}/on` });
    await world.pool.query('UPDATE accounts SET oauth_app_restrictions = true');
    const restricted = await world.publish({});
    await world.deliveries(restricted);
    expect(receivedOf(restricted).map((one) => one.path)).toEqual(['/on']);
    await world.pool.query("INSERT INTO oauth_app_approvals (account_id, client_id) SELECT id, 'app' FROM accounts");
    await until('the approved hook gets an event', async () => {
      await world.deliveries(await world.publish({}));
      return receiver.received.some(({ path }) => path === '/app');
    });
  });
});
