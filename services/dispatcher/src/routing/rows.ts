/** The stored row of a matched event, and the jobs that follow from it. */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Event } from '@gatepost/contracts/event';
import { eventGuid, eventKeyBefore, subjectOf } from '@gatepost/contracts/event-identity';
import type { NewEvent, StoredEvent } from '@gatepost/webhook-db/events';
import type { Account } from '../accounts.ts';
import type { Delivery } from './hand-over.ts';
import type { Match } from './match.ts';

export type Routed = {
  message: Incoming;
  event: Event;
  key: string;
  account: Account | undefined;
  hasBacklog: boolean;
  match: Match;
  /** This dispatcher is to make its only delivery. */
  hasPlace: boolean;
};

/** What all deliveries of an event share, except the day it is stored on. */
type CommonJob = Omit<DeliveryJob, 'deliveryId' | 'hookId' | 'sequence' | 'eventOn'>;

function jobOf(
  { message, event, match: found }: Routed,
  account: Account,
  { key, guid }: { key: string; guid: string },
): CommonJob {
  return {
    guid,
    event: event.type,
    action: event.action,
    eventKey: key,
    accountId: account.id,
    repositoryId: found.repositoryId,
    occurredAt: event.time.toISOString(),
    attempt: 1,
    redelivery: false,
    throttledAt: null,
    retries: true,
    ...(message.traceparent !== undefined && { traceparent: message.traceparent }),
  };
}

/** One per hook of the event. */
export function deliveriesOf(routed: Routed, row: StoredEvent): Delivery[] {
  const { event, account, hasBacklog } = routed;
  if (!account) return []; // deleted since the event was first stored
  // The dispatcher that stored it may have published some of its jobs.
  const common = { ...jobOf(routed, account, row), ...(row.isNew ? {} : { mayRepeat: true }) };
  return row.hookIds.map((hookId, position) => {
    const numbered = { deliveryId: row.deliveryIds[position]!, hookId, sequence: row.sequences?.[position] };
    const job = { ...numbered, eventOn: row.receivedOn, ...common };
    return { job, payload: event.payload, account, hasBacklog };
  });
}

export function toRow(routed: Routed, taker: number): NewEvent {
  const { message, event, key, account, hasBacklog, match: found, hasPlace } = routed;
  const guid = eventGuid(event);
  const hookIds = found.kind === 'matched' ? found.hooks.map((hook) => hook.id) : [];
  // Hooks created later may ask for what they missed, and the API's `tests` send a repository's latest push.
  const isMissed = found.kind === 'unmatched' && found.reason === 'no_hook';
  const isAskedFor = hookIds.length > 0 || isMissed || (event.type === 'push' && found.repositoryId !== null);
  return {
    key,
    keyBefore: () => eventKeyBefore(event),
    guid,
    source: event.source,
    id: event.id,
    type: event.type,
    action: event.action,
    accountId: account?.id ?? null,
    repositoryId: found.repositoryId,
    occurredAt: event.time,
    hookIds,
    unmatched: found.kind === 'matched' ? null : { reason: reasonOf(found), subject: subjectOf(event) },
    payload: isAskedFor ? event.payload : null,
    // Nothing of an account may overtake its deliveries that wait for the limit, so the limit need not be asked.
    waitingJob:
      account && hasBacklog && hookIds.length > 0
        ? JSON.stringify({ ...jobOf(routed, account, { key, guid }), throttledAt: new Date().toISOString() })
        : null,
    takenBy: hasPlace ? taker : null,
    traceparent: message.traceparent,
  };
}

const reasonOf = (found: Exclude<Match, { kind: 'matched' }>): string =>
  found.kind === 'unmatched' ? found.reason : found.kind;
