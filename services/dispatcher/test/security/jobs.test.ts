import { randomUUID } from 'node:crypto';
import { type DeliveryJob, jobHeader } from '@gatepost/contracts/delivery-job';
import { deliveriesQueue } from '@gatepost/contracts/topology';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { ownSource, storeRouted } from '@gatepost/webhook-db/requested';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type DeadLetters, openDeadLetters } from '../dead-letters.ts';
import { type Dispatcher, openWorld, type World } from '../world.ts';

// Whoever could write into the queue of deliveries had foreign bytes signed with another account's secret.
describe('jobs that none of our services made', () => {
  let world: World;
  let receiver: Receiver;
  let dispatcher: Dispatcher;
  let dead: DeadLetters;
  let hookId: number;
  let accountId: number;

  beforeAll(async () => {
    world = await openWorld();
    receiver = await openReceiver();
    accountId = await world.addAccount('acme', ['widgets']);
    const headers = { 'X-Api-Key': 'of acme' };
    hookId = await world.addHook('acme', { url: receiver.url, secret: 'the secret of acme', headers });
    dispatcher = await world.start();
    dead = await openDeadLetters(world.amqpUrl);
  });
  afterEach(() => {
    receiver.received.length = 0;
  });
  afterAll(async () => {
    expect(await dispatcher?.stop()).toBe(0);
    for (const one of [dead, receiver, world]) await one?.[Symbol.asyncDispose]();
  });

  const put = async (headers: Record<string, unknown>, body: Buffer) => {
    const messageId = randomUUID();
    await world.publisher.publish({ exchange: '', routingKey: deliveriesQueue, body, headers, messageId });
    return messageId;
  };
  const invented = (job: Partial<DeliveryJob> = {}): DeliveryJob => ({
    deliveryId: 987_654_321,
    guid: randomUUID(),
    hookId,
    event: 'issues',
    action: 'opened',
    eventKey: randomUUID(),
    eventOn: new Date().toISOString().slice(0, 10),
    accountId,
    repositoryId: null,
    occurredAt: new Date().toISOString(),
    attempt: 1,
    redelivery: false,
    throttledAt: null,
    retries: false,
    admitted: true,
    ...job,
  });
  /** The job of a delivery that was made, as its row tells it. */
  const jobOf = async (guid: string): Promise<DeliveryJob> => {
    const [row] = await world.deliveries(guid);
    const { rows } = await world.pool.query(
      'SELECT key, received_on::text, occurred_at, repository_id FROM events WHERE guid = $1',
      [guid],
    );
    const { key, received_on, occurred_at, repository_id } = rows[0];
    const occurredAt = occurred_at.toISOString();
    const made = { guid, eventKey: key, eventOn: received_on, occurredAt, repositoryId: repository_id };
    return invented({ ...made, deliveryId: Number(row!.id) });
  };

  test('an event made up by a user gets no signature, request header or user of the URL that the hook got later', async () => {
    const type = 'issues';
    const event = async () => {
      const guid = randomUUID();
      const asked = {
        key: randomUUID(),
        guid,
        source: ownSource,
        type,
        action: null,
        accountId,
        repositoryId: null,
        hookId,
      };
      const stored = await storeRouted(world.pool, { ...asked, payload: Buffer.from('{"made":"up"}') });
      const { deliveryId, receivedOn: eventOn, occurredAt } = stored;
      return invented({ deliveryId, guid, eventKey: asked.key, eventOn, occurredAt: occurredAt.toISOString() });
    };
    /** As it is when it waited, for its account's limit say. */
    const sent = async (job: DeliveryJob) => {
      await world.pool.query(
        `INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job) VALUES ($1, $2, 'retry', now(), $3, $4, $5)`,
        [job.deliveryId, accountId, job.eventKey, job.eventOn, JSON.stringify(job)],
      );
      return until('it is delivered', async () =>
        receiver.received.find(({ headers }) => headers['x-github-delivery'] === job.guid),
      );
    };
    expect((await sent(await event())).headers['x-hub-signature-256']).toMatch(/^sha256=/);
    const before = await event();
    await world.pool.query('UPDATE hooks SET url = $2, updated_at = now() WHERE id = $1', [
      hookId,
      receiver.url.replace('://', '://user:word@'),
    ]);
    const guid = await world.publish({}); // by then the change is known
    await world.deliveries(guid);
    const late = (await sent(before)).headers;
    const secret = ['x-hub-signature-256', 'authorization', 'x-api-key'];
    expect(secret.map((name) => late[name])).toEqual([undefined, undefined, undefined]);
    const after = (await sent(await event())).headers;
    expect(secret.map((name) => after[name])).toEqual([
      expect.stringMatching(/^sha256=/),
      expect.stringMatching(/^Basic /),
      'of acme',
    ]);
  });

  test('a job without an authentication code is not delivered but dead-lettered with the reason', async () => {
    const id = await put({ [jobHeader]: JSON.stringify(invented()) }, Buffer.from('{"transfer":"everything"}'));
    expect(await dead.of(id)).toMatchObject({
      reason: 'job_not_authentic',
      body: Buffer.from('{"transfer":"everything"}'),
    });
    expect(receiver.received).toEqual([]);
  });

  test('a job with a malformed or invented authentication code is not delivered', async () => {
    for (const code of ['', 'x', 'A'.repeat(43), 7, { a: 1 }]) {
      const headers = { [jobHeader]: JSON.stringify(invented()), 'job-code': code };
      const id = await put(headers, Buffer.from('{}'));
      expect((await dead.of(id)).reason).toBe('job_not_authentic');
    }
    expect(receiver.received).toEqual([]);
  });

  test('a forged job with values that PostgreSQL would refuse is dead-lettered the first time', async () => {
    const absurd: Partial<DeliveryJob>[] = [
      { eventKey: "x' OR true" },
      { eventOn: '2026-02-30' },
      { eventOn: '0000-01-01' },
      { deliveryId: -1 },
      { deliveryId: Number.MAX_SAFE_INTEGER },
      { guid: '\u0000' },
    ];
    for (const fields of absurd) {
      const id = await put({ [jobHeader]: JSON.stringify(invented(fields)) }, Buffer.from('{}'));
      expect((await dead.of(id)).reason).toBe('job_not_authentic');
    }
    expect(dispatcher.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('a forged job for an existing delivery, with other bytes or for another hook, is not delivered', async () => {
    const other = await world.addHook('acme', { url: `${receiver.url}/other`, events: ['never'] });
    const guid = await world.publish({ payload: { a: 1 } });
    const job = await jobOf(guid);
    const otherBytes = await put({ [jobHeader]: JSON.stringify(job) }, Buffer.from('{"a":2}'));
    const otherHook = await put({ [jobHeader]: JSON.stringify({ ...job, hookId: other }) }, Buffer.from('{"a":1}'));
    expect((await dead.of(otherBytes)).reason).toBe('job_not_authentic');
    expect((await dead.of(otherHook)).reason).toBe('job_not_authentic');
    expect(receiver.received).toHaveLength(1);
  });

  test('a job that an older version left in the queue is delivered as PostgreSQL has it', async () => {
    const guid = await world.publish({ payload: { a: 1 } });
    const job = await jobOf(guid);
    await world.pool.query('DELETE FROM deliveries WHERE guid = $1', [guid]); // as if it still waited
    receiver.received.length = 0;
    await put({ [jobHeader]: JSON.stringify({ ...job, event: 'push', attempt: 7 }) }, Buffer.from('{"a":1}'));
    const [row] = await world.deliveries(guid);
    expect(row).toMatchObject({ attempt: 1, status: 'OK' });
    expect(receiver.received[0]?.headers['x-github-event']).toBe('issues');
    expect(receiver.received[0]?.body.toString()).toBe('{"a":1}');
  });

  test('a parked job of an older version is delivered once, from its row', async () => {
    const guid = await world.publish({ payload: { b: 1 } });
    const job = await jobOf(guid);
    const { rows } = await world.pool.query(
      `INSERT INTO parked (delivery_id, account_id, reason, due_at, published_at, event_key, event_on, job)
       VALUES (nextval('delivery_ids'), $1, 'retry', now(), now(), $2, $3, $4) RETURNING delivery_id`,
      [accountId, job.eventKey, job.eventOn, JSON.stringify({ ...job, redelivery: true })],
    );
    const deliveryId = Number(rows[0].delivery_id);
    const old = JSON.stringify({ ...job, deliveryId, redelivery: true, parked: true });
    await put({ [jobHeader]: old }, Buffer.alloc(0));
    const again = await world.deliveries(guid, 2);
    expect(again[1]).toMatchObject({ id: String(deliveryId), redelivery: true, status: 'OK' });
    await until('its row is gone', async () => (await world.pool.query('SELECT FROM parked')).rowCount === 0);
    const late = await put({ [jobHeader]: old }, Buffer.alloc(0));
    expect((await dead.of(late)).reason).toBe('job_not_authentic');
    expect(receiver.received).toHaveLength(2);
  });

  test('a job of an older version whose delivery is not due yet is left to its parked row', async () => {
    const guid = await world.publish({ payload: { c: 1 } });
    const job = await jobOf(guid);
    const { rows } = await world.pool.query(
      `INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
       VALUES (nextval('delivery_ids'), $1, 'throttle', now() + interval '1 hour', $2, $3, $4) RETURNING delivery_id`,
      [accountId, job.eventKey, job.eventOn, JSON.stringify(job)],
    );
    const deliveryId = Number(rows[0].delivery_id);
    const early = await put({ [jobHeader]: JSON.stringify({ ...job, deliveryId }) }, Buffer.alloc(0));
    // What comes after it in the queue is settled later.
    await dead.of(await put({}, Buffer.from('{}')));
    await until('the queue is empty', async () => (await world.publisher.waiting(deliveriesQueue)) === 0);
    expect(dead.all.filter(({ messageId }) => messageId === early)).toEqual([]);
    expect(receiver.received).toHaveLength(1);
    expect((await world.pool.query('SELECT FROM parked WHERE delivery_id = $1', [deliveryId])).rowCount).toBe(1);
  });
});
