/** `POST …/hooks/{hook_id}/tests`: the repository's latest push, to this hook alone. */
import { randomUUID } from 'node:crypto';
import { jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import { payloadOfJob } from '@gatepost/webhook-db/event-payloads';
import type { Pool } from '@gatepost/webhook-db/pool';
import { ownSource } from '@gatepost/webhook-db/requested';
import { placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { checkConnected, parkDelivery, publishDelivery } from '../publish.ts';
import { githubDocs } from './documentation.ts';
import { loadHook } from './rows.ts';

export const testHook = placeOperation({
  id: 'test-push-webhook',
  summary: "Send the repository's latest push",
  docs: githubDocs('test-the-push-repository-webhook', 'ping-an-organization-webhook'),
  answers: {
    204: { description: 'It is on its way, if the hook is active and subscribes to pushes, and there was one' },
  },
  async run({ parts, place, token, params, checkTime }) {
    const row = await loadHook(parts.pool, place, token, parseHookId(params));
    const takesPushes = row.events.includes('push') || row.events.includes('*');
    if (!takesPushes || !row.active || row.restricted || !place.repository) return { status: 204 };
    checkConnected(parts.publisher);
    const push = await findLatestPush(parts.pool, place.repository.id);
    if (!push) return { status: 204 };
    checkTime();
    const job = await parkDelivery(parts.pool, {
      // A new guid: a receiver that knows the push already would otherwise drop the test as a repetition.
      guid: randomUUID(),
      hookId: row.id,
      event: 'push',
      action: null,
      eventKey: push.key,
      eventOn: push.received_on,
      accountId: place.account.id,
      repositoryId: place.repository.id,
      occurredAt: push.occurred_at.toISOString(),
      attempt: 1,
      redelivery: false,
      throttledAt: null,
      retries: false,
    });
    await publishDelivery(parts, job, push.payload, checkTime);
    return { status: 204 };
  },
});

type Push = { key: string; received_on: string; occurred_at: Date; payload: Buffer };

/** One that somebody made up for another hook is none. */
async function findLatestPush(pool: Pool, repositoryId: number): Promise<Push | undefined> {
  const { rows } = await pool.query<Push>(
    `SELECT key, received_on::text, occurred_at, ${payloadOfJob('$3')} FROM events
      WHERE repository_id = $1 AND type = 'push' AND source <> $2 AND payload IS NOT NULL ORDER BY received_at DESC LIMIT 1`,
    [repositoryId, ownSource, jobBodyMaxBytes],
  );
  return rows[0];
}
