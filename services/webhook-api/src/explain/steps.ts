/** What happened to an event on its way to a hook, in order. Pure. */
import { readJob, type WaitingRow } from '../waiting/rows.ts';
import { endedAt, firstDeliveryId, isTest, type Known, resultOf, stateOfWaiting, waitingOf } from './known.ts';
import type { AttemptRow, EventRow } from './rows.ts';
import type { ExplainedStep } from './schema.ts';
import { type Step, states } from './words.ts';

export function stepsOf(known: Known): ExplainedStep[] {
  const { event, attempts } = known;
  const first = firstDeliveryId(known);
  const waiting = waitingOf(known);
  const matched = first !== undefined || isTest(known) ? 'It is for this hook.' : 'It is not for this hook.';
  return [
    ...(event ? stepsOfEvent(event, matched) : []),
    ...(event && first !== undefined ? stepsOfHandOver(event, first) : []),
    ...attempts.flatMap((attempt) => stepsOfAttempt(attempt, event, first)),
    ...(waiting ? stepsOfWaiting(waiting) : []),
  ];
}

/** `matched`: the result of matching its hooks. */
export function stepsOfEvent(event: EventRow, matched: string): ExplainedStep[] {
  return [
    step('occurred', event.occurred_at, "The event occurred, by its producer's clock."),
    step('taken', event.received_at, 'It was taken from its queue and stored.'),
    step('matched', event.received_at, matched),
  ];
}

/** No step if the event was stored with its deliveries waiting, or if a dispatcher delivers it directly without handing it over. */
function stepsOfHandOver({ routed_at, received_at, taken_by }: EventRow, deliveryId: number): ExplainedStep[] {
  if (!routed_at || taken_by !== null || routed_at.getTime() === received_at.getTime()) return [];
  return [step('handed_over', routed_at, 'It was handed over to be delivered.', { deliveryId })];
}

function stepsOfAttempt(row: AttemptRow, event: EventRow | undefined, first: number | undefined): ExplainedStep[] {
  const of = { deliveryId: Number(row.id), attempt: row.attempt, redelivery: row.redelivery };
  const which = row.redelivery ? `Redelivery, attempt ${row.attempt}` : `Attempt ${row.attempt}`;
  // A dispatcher that delivers an event it took marks it as routed in the statement that records the outcome.
  const routedAt = of.deliveryId === first && event?.taken_by ? event.routed_at : null;
  const recordedAt = routedAt && routedAt >= row.delivered_at ? routedAt : undefined;
  return [
    ...(row.throttled_at ? [throttled(row.throttled_at, of)] : []),
    step('attempt', row.delivered_at, `${which} began.`, of),
    {
      ...step('recorded', recordedAt ?? endedAt(row), `${resultOf(row)} after ${row.duration_ms} ms.`, of),
      exact: recordedAt !== undefined,
    },
  ];
}

function stepsOfWaiting(row: WaitingRow): ExplainedStep[] {
  // The answer's own state may be that of another delivery, already made.
  const state = stateOfWaiting[row.reason];
  const job = readJob(row.job);
  const { attempt, redelivery } = job;
  const of: Of = {
    deliveryId: Number(row.delivery_id),
    ...(attempt !== undefined && { attempt }),
    ...(redelivery !== undefined && { redelivery }),
  };
  const since = job.throttledAt ? [throttled(new Date(job.throttledAt), of)] : [];
  if (state === 'throttled' && since.length > 0) return since;
  return [...since, step('waits', row.parked_at, `It ${states[state]}.`, of)];
}

const throttled = (at: Date, of: Of) => step('throttled', at, "The account's limit made it wait.", of);

type Of = { deliveryId?: number; attempt?: number; redelivery?: boolean };

function step(name: Step, at: Date, sentence: string, { deliveryId, attempt, redelivery }: Of = {}): ExplainedStep {
  return {
    step: name,
    at: at.toISOString(),
    exact: true,
    delivery_id: deliveryId ?? null,
    attempt: attempt ?? null,
    redelivery: deliveryId === undefined ? null : (redelivery ?? false),
    sentence,
  };
}
