/** Stands where the dispatcher stands: takes delivery jobs off the queue, and writes outcomes into the log. */
import { type Consumer, openConsumer } from '@gatepost/amqp/consumer';
import { type DeliveryJob, deriveJobKey, openJob } from '@gatepost/contracts/delivery-job';
import { deliveriesQueue, topology } from '@gatepost/contracts/topology';
import { openLog } from '@gatepost/runtime/log';
import { until } from '@gatepost/testkit/until';
import type pg from 'pg';
import type { Api } from './api.ts';

// biome-ignore lint/suspicious/noExplicitAny: a payload, of which each test expects what it names
export type TakenJob = { job: DeliveryJob; payload: any };

export type Jobs = AsyncDisposable & { all: TakenJob[]; next(what: (taken: TakenJob) => boolean): Promise<TakenJob> };

export async function openJobs({ amqpUrl, env }: Pick<Api, 'amqpUrl' | 'env'>): Promise<Jobs> {
  const all: TakenJob[] = [];
  const key = deriveJobKey(Buffer.from(env.SECRETS_KEY!, 'base64'));
  const consumer: Consumer = await openConsumer({
    url: amqpUrl,
    name: 'test',
    log: openLog('test', 'silent'),
    topology,
    queue: deliveriesQueue,
    prefetch: 100,
    onMessage(message) {
      const payload = message.body.length === 0 ? undefined : JSON.parse(message.body.toString('utf8'));
      const opened = openJob(message, key);
      // As the dispatcher would: what is not signed is not made.
      if (opened.kind === 'job') all.push({ job: opened.job, payload });
      message.ack();
    },
  });
  return {
    all,
    next: (what) => until('a delivery job', () => all.find(what)),
    [Symbol.asyncDispose]: () => consumer[Symbol.asyncDispose](),
  };
}

/** Writes what the dispatcher would write after an attempt. @returns the delivery's id. */
export async function recordDelivery(
  sql: pg.Pool,
  delivery: {
    hookId: number;
    job?: DeliveryJob;
    status?: string;
    statusCode?: number;
    event?: string;
    payload?: string;
    responseBody?: Buffer | null;
    error?: string | null;
    throttledAt?: Date | null;
    sequence?: number;
  },
): Promise<number> {
  const {
    hookId,
    job,
    status = 'OK',
    statusCode = 200,
    event = 'push',
    payload = '{"ref":"refs/heads/main"}',
  } = delivery;
  const place = await sql.query('SELECT account_id, repository_id FROM hooks WHERE id = $1', [hookId]);
  const { account_id, repository_id } = place.rows[0];
  const stored = await sql.query(
    `INSERT INTO events (key, guid, source, event_id, type, account_id, repository_id, occurred_at, payload, hook_ids, delivery_ids)
     VALUES (gen_random_uuid(), gen_random_uuid(), 'urn:test', 'x', $1, $2, $3, now(), $4, '{}', '{}')
     RETURNING key, guid, received_on::text`,
    [event, account_id, repository_id, Buffer.from(payload)],
  );
  const { key, guid, received_on } = stored.rows[0];
  const { rows } = await sql.query(
    `INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on,
       event, action, attempt, redelivery, throttled_at, status, status_code, error, duration_ms, timings, url,
       request_headers, response_headers, response_body, sequence)
     VALUES (coalesce($1, nextval('delivery_ids')), (now() AT TIME ZONE 'UTC')::date, now(), $2, $3, $4, $5, $6, $7, $8, null, 1, $9,
       $10, $11, $12, $13, 31, '{"dns":null,"connect":1,"tls":null,"first_byte":20,"total":31}', 'https://example.com/',
       '{"X-GitHub-Event":"push","X-Hub-Signature-256":"sha256=00"}', '{"content-type":"text/plain"}', $14, $15)
     RETURNING id`,
    [
      job?.deliveryId ?? null,
      hookId,
      account_id,
      repository_id,
      job?.guid ?? guid,
      job?.eventKey ?? key,
      job?.eventOn ?? received_on,
      job?.event ?? event,
      job?.redelivery ?? false,
      delivery.throttledAt ?? null,
      status,
      statusCode,
      delivery.error ?? null,
      delivery.responseBody === undefined ? Buffer.from('ok') : delivery.responseBody,
      job?.sequence ?? delivery.sequence ?? null,
    ],
  );
  return Number(rows[0].id);
}
