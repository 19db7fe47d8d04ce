/** An event that this API itself makes for one hook: stored like any other, counted as routed, with its delivery parked. */

import { randomUUID } from 'node:crypto';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { eventKey } from '@gatepost/contracts/event-identity';
import type { Queryable } from '@gatepost/webhook-db/pool';
import { ownSource, storeRouted } from '@gatepost/webhook-db/requested';
import type { Place } from '../access/place.ts';
import { parkDelivery } from '../publish.ts';

export type OwnEvent = { hookId: number; event: string; action: string | null; payload: Buffer };

/** @returns the job to publish once this is committed. */
export async function storeOwnEvent(
  db: Queryable,
  { account, repository }: Place,
  own: OwnEvent,
): Promise<DeliveryJob> {
  const { hookId, event, action, payload } = own;
  const guid = randomUUID();
  const [login, name] = [account.login.toLowerCase(), repository?.name.toLowerCase() ?? null];
  const key = eventKey({ source: ownSource, id: guid, account: login, repository: name });
  const [accountId, repositoryId] = [account.id, repository?.id ?? null];
  const stored = await storeRouted(db, {
    key,
    guid,
    source: ownSource,
    type: event,
    action,
    accountId,
    repositoryId,
    payload,
    hookId,
  });
  return parkDelivery(db, {
    deliveryId: stored.deliveryId,
    guid,
    hookId,
    event,
    action,
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
}
