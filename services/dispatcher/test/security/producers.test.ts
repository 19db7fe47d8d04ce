import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventKeyBefore } from '@gatepost/contracts/event-identity';
import { deliveriesQueue, eventsQueue, producerPermissions } from '@gatepost/contracts/topology';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { freshUser } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDeadLetters } from '../dead-letters.ts';
import { type Dispatcher, openWorld, type World } from '../world.ts';

describe('producers that share a broker', () => {
  let world: World;
  let receiver: Receiver;
  let dispatcher: Dispatcher;

  beforeAll(async () => {
    world = await openWorld();
    receiver = await openReceiver();
    for (const login of ['acme', 'other']) {
      await world.addAccount(login, ['widgets']);
      await world.addHook(login, { url: `${receiver.url}/${login}` });
    }
    dispatcher = await world.start();
  });
  afterAll(async () => {
    expect(await dispatcher?.stop()).toBe(0);
    for (const one of [receiver, world]) await one?.[Symbol.asyncDispose]();
  });
  const duplicates = (count: number) =>
    until(`${count} duplicates`, async () => (await dispatcher.metric(/result="duplicate"/)) === count);

  // Whoever published first under a source and id had everybody else's event dropped for a day.
  test.each([
    ['a UUID', randomUUID()],
    ['any other text', 'build-77'],
  ])('an event is not dropped because another subject used its source and id, when that is %s', async (_, id) => {
    receiver.received.length = 0; // of the other id
    const before = (await dispatcher.metric(/result="duplicate"/)) ?? 0;
    const source = 'https://ci.example/builds';
    const subjects = ['other/widgets', 'acme/widgets', 'acme', 'ACME/Widgets', 'acme/widgets'];
    for (const subject of subjects) await world.publish({ source, id, subject, payload: { subject } });
    await duplicates(before + 2);
    const { headers } = await until('the first', () =>
      receiver.received.find(({ body }) => body.includes('other/widgets')),
    );
    const guid = headers['x-github-delivery']!;
    const rows = await world.deliveries(guid, 3);
    const { rows: log } = await world.pool.query(
      `SELECT a.login, r.name, convert_from(e.payload, 'UTF8') AS payload
         FROM deliveries d JOIN events e ON e.key = d.event_key JOIN accounts a ON a.id = d.account_id AND a.id = e.account_id
         LEFT JOIN repositories r ON r.id = d.repository_id AND r.id = e.repository_id WHERE d.guid = $1 ORDER BY login, name`,
      [guid],
    );
    expect(rows).toHaveLength(3);
    expect(log).toEqual([
      { login: 'acme', name: 'widgets', payload: '{"subject":"acme/widgets"}' },
      { login: 'acme', name: null, payload: '{"subject":"acme"}' },
      { login: 'other', name: 'widgets', payload: '{"subject":"other/widgets"}' },
    ]);
    const paths = receiver.received
      .filter(({ headers }) => headers['x-github-delivery'] === guid)
      .map(({ path }) => path);
    expect(paths.sort()).toEqual(['/acme', '/acme', '/other']);
  });

  test('a copy of an event that an older version stored without the subject in its key is still dropped', async () => {
    const guid = await world.publish({ source: 'urn:before', payload: { first: true } });
    await world.deliveries(guid);
    const earlier = eventKeyBefore({ source: 'urn:before', id: guid });
    await world.pool.query('UPDATE events SET key = $1 WHERE guid = $2', [earlier, guid]);
    // As the migration leaves it where there were events.
    await world.pool.query('INSERT INTO event_keys VALUES (1, now())');
    expect(await dispatcher.stop()).toBe(0);
    dispatcher = await world.start();
    await world.publish({ source: 'urn:before', id: guid });
    await duplicates(1);
    await world.publish({ source: 'urn:before', id: guid, subject: 'other/widgets' });
    expect(await world.deliveries(guid, 2)).toHaveLength(2);
  });

  // The dead letter is published by us, into any queue that its own headers name besides.
  test('no header of an event can route its dead letter back into one of our queues', async () => {
    await using ci = await freshUser(world.amqpUrl, producerPermissions);
    await using dead = await openDeadLetters(world.amqpUrl);
    await using producer = await openProducer(ci.url);
    const [id, after] = [randomUUID(), randomUUID()];
    const queues = [deliveriesQueue, eventsQueue];
    const published = await producer.publish({ body: 'no JSON', headers: { CC: queues, BCC: queues, marked: id } });
    expect(published).toBeDefined();
    const marked = () => dead.all.filter(({ headers }) => headers.marked === id);
    await until('the dead letter', () => marked().length > 0);
    // Whatever came round with it stands before these.
    const { publisher } = world;
    for (const routingKey of queues)
      await publisher.publish({
        exchange: '',
        routingKey,
        body: Buffer.from('no'),
        messageId: `${after}-${routingKey}`,
      });
    for (const routingKey of queues) await dead.of(`${after}-${routingKey}`);
    expect(marked().map(({ reason }) => reason)).toEqual(['not_json']);
  });

  test('with PRODUCERS_FILE a user publishes for the accounts listed there; any other event is dead-lettered with the reason', async () => {
    await using ci = await freshUser(world.amqpUrl, producerPermissions);
    await using stranger = await freshUser(world.amqpUrl, producerPermissions);
    const file = join(mkdtempSync(join(tmpdir(), 'producers-')), 'producers.yaml');
    writeFileSync(file, `producers: [{ user: ${ci.name}, accounts: [ACME] }]`);
    expect(await dispatcher.stop()).toBe(0);
    dispatcher = await world.start({ PRODUCERS_FILE: file });

    await using dead = await openDeadLetters(world.amqpUrl);
    const publish = async (url: string, event: { subject: string; userId?: string }) => {
      await using producer = await openProducer(url);
      return await producer.publish({ source: 'urn:bound', ...event });
    };
    const deadEvent = (id: string) =>
      until(`a dead letter of ${id}`, () => dead.all.find(({ headers }) => headers['cloudEvents:id'] === id));

    await world.deliveries(await publish(ci.url, { subject: 'Acme/Widgets', userId: ci.name }));
    const foreign = await publish(ci.url, { subject: 'other/widgets', userId: ci.name });
    const nameless = await publish(ci.url, { subject: 'acme/widgets' });
    const unknown = await publish(stranger.url, { subject: 'acme/widgets', userId: stranger.name });
    expect(await deadEvent(foreign)).toMatchObject({
      reason: 'producer_not_allowed',
      detail: `${ci.name} may not publish for other`,
    });
    expect(await deadEvent(nameless)).toMatchObject({
      reason: 'producer_unknown',
      detail: 'the message has no `user_id`',
    });
    expect(await deadEvent(unknown)).toMatchObject({
      reason: 'producer_unknown',
      detail: `no producer is named ${stranger.name}`,
    });
    // RabbitMQ takes nobody's name but the user's own.
    await expect(publish(stranger.url, { subject: 'acme/widgets', userId: ci.name })).rejects.toThrow();
    const { rows } = await world.pool.query("SELECT count(*)::int AS n FROM events WHERE source = 'urn:bound'");
    expect(rows[0].n).toBe(1);
  });

  test('an invalid PRODUCERS_FILE keeps a dispatcher from starting', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'producers-')), 'producers.yaml');
    writeFileSync(file, 'producers: [{ user: ci, account: acme }]');
    await expect(world.start({ PRODUCERS_FILE: file })).rejects.toThrow('producers[0].account: unknown key');
  });
});
