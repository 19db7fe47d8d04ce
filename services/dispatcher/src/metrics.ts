/** What operators see: one wide log line per failed delivery or dead event, and the metrics. */

import type { Incoming } from '@gatepost/amqp/consumer';
import { type DeadReason, deadReasons } from '@gatepost/contracts/dead-reason';
import { type DeliveryJob, jobFields } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import { Counter, Gauge, Histogram, type Registry } from '@gatepost/runtime/metrics';
import type { Outcome } from './delivering/classify.ts';
import type { FailingHooks } from './failing-hooks.ts';
import type { Hook } from './hook.ts';
import { messageFields } from './log-fields.ts';
import { type Parking, untilReleased } from './parked/park.ts';
import { type UnmatchedReason, unmatchedReasons } from './routing/match.ts';

export type EventResult = 'matched' | 'unmatched' | 'duplicate' | 'too_many_tags' | 'dead';
export type CancelReason = 'hook_gone' | 'hook_disabled' | 'event_gone';

export type Metrics = {
  eventRouted(result: EventResult, count?: number): void;
  /** In addition to `eventRouted`. */
  eventUnmatched(reason: UnmatchedReason): void;
  eventDead(reason: DeadReason, detail: string, message: Pick<Incoming, 'headers' | 'messageId'>): void;
  attemptStarted(job: DeliveryJob): void;
  /** `retryDueMs`: when the next attempt is due, if there is one. */
  attemptEnded(
    job: DeliveryJob,
    hook: Hook,
    outcome: Outcome,
    durationMs: number,
    retryDueMs: number | undefined,
  ): void;
  /** Our own fault prevented the attempt; it will be made again and does not count. */
  attemptPostponed(job: DeliveryJob, cause: string): void;
  /** The listener has other deliveries ahead of it: nothing was sent. */
  attemptTurnedAway(): void;
  deliveryCancelled(job: DeliveryJob, reason: CancelReason): void;
  /** It was in hand, and now waits in PostgreSQL. */
  deliveryWaits(parking: Parking): void;
  /** A message was acked, given back or moved to the dead letters. */
  settled(how: 'ack' | 'give_back' | 'dead_letter', why: string): void;
  /** Deliveries were slowed by their account's limit. */
  throttled(count: number): void;
};

type Logs = Record<'routing' | 'delivering', Log>;

export function makeMetrics(logs: Logs, registry: Registry, failing: Pick<FailingHooks, 'note'>): Metrics {
  const log = logs.delivering;
  const shown = openShown(registry);
  const delivered = shown.deliveries.labels('delivered', 'ok');
  for (const result of ['matched', 'unmatched', 'duplicate', 'too_many_tags', 'dead']) shown.events.inc({ result }, 0);
  for (const reason of unmatchedReasons) shown.unmatched.inc({ reason }, 0);
  // A series must exist before its first increase, or that increase is not seen.
  for (const reason of deadReasons) shown.deadLetters.inc({ reason }, 0);

  return {
    eventRouted: (result, count = 1) => shown.events.inc({ result }, count),
    eventUnmatched: (reason) => shown.unmatched.inc({ reason }),
    eventDead(reason, detail, message) {
      shown.events.inc({ result: 'dead' });
      shown.deadLetters.inc({ reason });
      logs.routing.warn({ reason, detail, ...messageFields(message) }, 'moved a message to the dead letters');
    },
    attemptStarted(job) {
      shown.inFlight.inc();
      if (job.throttledAt !== null && job.notBeforeMs !== undefined)
        shown.excessWait.observe(Math.max(0, Date.now() - job.notBeforeMs) / 1000);
      const waitedOnPurpose = job.attempt > 1 || job.redelivery || job.throttledAt !== null || job.wasPutAside;
      if (waitedOnPurpose) return;
      shown.age.observe(Math.max(0, Date.now() - Date.parse(job.occurredAt)) / 1000);
    },
    attemptEnded(job, hook, outcome, durationMs, retryDueMs) {
      shown.inFlight.dec();
      shown.duration.observe(durationMs / 1000);
      if (outcome.kind === 'delivered') {
        delivered.inc();
        if (log.isLevelEnabled('debug'))
          log.debug({ ...jobFields(job), status_code: outcome.statusCode, duration_ms: durationMs }, 'delivered');
        return;
      }
      shown.deliveries.inc({ outcome: 'failed', reason: outcome.reason });
      failing.note(job, hook, outcome);
      log.info({ ...jobFields(job), ...failed(outcome, durationMs, retryDueMs) }, 'delivery failed');
    },
    attemptPostponed(job, cause) {
      shown.inFlight.dec();
      shown.deliveries.inc({ outcome: 'postponed', reason: 'ours' });
      log.warn({ ...jobFields(job), cause }, 'could not make an attempt, as our own resources ran out; trying again');
    },
    attemptTurnedAway: () => shown.inFlight.dec(),
    deliveryWaits({ job, reason, dueMs }) {
      if (log.isLevelEnabled('debug'))
        log.debug(
          { ...jobFields(job), reason, ...(dueMs !== untilReleased && { due_at: new Date(dueMs).toISOString() }) },
          'delivery waits',
        );
    },
    settled: (how, why) => shown.settled.inc({ how, why }),
    throttled: (count) => shown.throttled.inc(count),
    deliveryCancelled(job, reason) {
      shown.deliveries.inc({ outcome: 'cancelled', reason });
      log.info({ ...jobFields(job), reason }, 'delivery cancelled');
    },
  };
}

function failed(
  { status, statusCode, error: cause }: Outcome & { kind: 'failed' },
  durationMs: number,
  retryDueMs: number | undefined,
): object {
  const retry = retryDueMs !== undefined && { retry_at: new Date(retryDueMs).toISOString() };
  return { status, status_code: statusCode, cause, duration_ms: durationMs, ...retry };
}

const attemptBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The bare metrics. */
function openShown(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, ...more: number[]) =>
    new Histogram({ name, help, buckets: [...attemptBuckets, ...more], registers });
  return {
    events: counter('dispatcher_events_total', 'Events taken from the queue, by what became of them', 'result'),
    unmatched: counter('dispatcher_events_unmatched_total', 'Unmatched events, by why no hook gets them', 'reason'),
    deadLetters: counter('dispatcher_dead_letters_total', 'Messages moved to the dead letters, by reason', 'reason'),
    deliveries: counter(
      'dispatcher_deliveries_total',
      'Attempts ended, and deliveries cancelled; reason is the kind of failure or why it was cancelled',
      'outcome',
      'reason',
    ),
    duration: histogram(
      'dispatcher_delivery_duration_seconds',
      'Time from the start of an attempt to the end of its response',
    ),
    age: histogram(
      'dispatcher_event_age_seconds',
      'Time from the event to its first attempt, without those that waited on purpose',
      30, // where the alert EventsLate begins
      60,
      600,
      3600,
      21600,
    ),
    inFlight: new Gauge({
      name: 'dispatcher_deliveries_in_flight',
      help: 'Attempts that are waiting for a receiver',
      registers,
    }),
    throttled: counter('dispatcher_throttled_total', "Deliveries slowed by their account's limit"),
    excessWait: histogram(
      'dispatcher_throttle_excess_wait_seconds',
      'How much longer a throttled delivery waited than its limit entitled it to',
      60,
    ),
    settled: counter(
      'dispatcher_messages_settled_total',
      'Messages of both queues that were acked, given back or moved to the dead letters, and why',
      'how',
      'why',
    ),
  };
}
