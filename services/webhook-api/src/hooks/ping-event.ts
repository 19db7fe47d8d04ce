/** The `ping` event (https://docs.github.com/webhooks/webhook-events-and-payloads#ping): made here, stored like any other event, delivered to one hook. */
import { randomInt, randomUUID } from 'node:crypto';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { eventKey } from '@gatepost/contracts/event';
import { storeRouted } from '@gatepost/webhook-db/asked';
import type { Place } from '../access/place.ts';
import type { Token } from '../access/token.ts';
import { presentSimpleOrganization } from '../objects/organization.ts';
import { presentRepository } from '../objects/repository.ts';
import { presentUser, userOfSubject } from '../objects/user.ts';
import { parkDelivery } from '../publish.ts';
import type { Queryable } from './rows.ts';

const source = 'urn:gatepost:webhook-api';

export type StoredPing = { job: DeliveryJob; payload: Buffer };

/** Stores a ping for the hook whose JSON is `hook`, and parks its delivery. @returns what to publish once that is committed. */
export async function storePing(
  db: Queryable,
  place: Place,
  token: Token,
  hook: Record<string, unknown>,
  base: string,
): Promise<StoredPing> {
  const guid = randomUUID();
  const hookId = Number(hook.id);
  const payload = Buffer.from(JSON.stringify(pingPayload(place, token, hook, base)));
  const { account, repository } = place;
  const [login, name] = [account.login.toLowerCase(), repository?.name.toLowerCase() ?? null];
  const key = eventKey({ source, id: guid, account: login, repository: name });
  const accountId = account.id;
  const repositoryId = repository?.id ?? null;
  const stored = await storeRouted(db, { key, guid, source, type: 'ping', accountId, repositoryId, payload, hookId });
  const job = await parkDelivery(db, {
    deliveryId: stored.deliveryId,
    guid,
    hookId,
    event: 'ping',
    action: null,
    eventKey: key,
    eventOn: stored.receivedOn,
    accountId,
    repositoryId,
    occurredAt: stored.occurredAt.toISOString(),
    attempt: 1,
    redelivery: false,
    throttledAt: null,
    retries: false,
  });
  return { payload, job };
}

function pingPayload(place: Place, token: Token, hook: Record<string, unknown>, base: string): Record<string, unknown> {
  const { account, repository } = place;
  return {
    zen: zen[randomInt(zen.length)],
    hook_id: hook.id,
    hook,
    ...(repository
      ? { repository: presentRepository(account, repository, base) }
      : { organization: presentSimpleOrganization(account, base) }),
    sender: presentUser(userOfSubject(token.subject), base),
  };
}

const zen = [
  'Keep the gate, not the guests.',
  'A signature is worth a thousand allow-lists.',
  'Answer first, work later.',
  'What arrives twice was meant once.',
  'Late is better than lost.',
];
