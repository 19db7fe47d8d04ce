/** Tells for one event and one hook where the delivery stands, since when, until when and why, and what has happened. Pure. */
import { ownSource } from '@gatepost/webhook-db/requested';
import { readJob, type WaitingRow } from '../waiting/rows.ts';
import { adviceOn, again, isKeptBack, pathOf } from './advice.ts';
import { causesOf, duplicatesUntil } from './causes.ts';
import {
  endedAt,
  firstDeliveryId,
  isDelivered,
  isTest,
  type Known,
  placeOf,
  resultOf,
  stateOfWaiting,
  waitingOf,
} from './known.ts';
import type { AttemptRow } from './rows.ts';
import type { Cause, Explanation } from './schema.ts';
import { stepsOf } from './steps.ts';

type Summary = Pick<Explanation, 'delivery_id' | 'state' | 'since' | 'until' | 'sentence' | 'next'> & {
  causes?: Cause[];
};

export function explain(known: Known): Explanation {
  const { event, guid, hook } = known;
  const { causes = [], ...summary } = summarize(known);
  const attempt = known.attempts.at(-1);
  const job = waitingOf(known) && readJob(waitingOf(known)!.job);
  return {
    guid,
    event: event?.type ?? attempt?.event ?? job?.event ?? null,
    action: event?.action ?? attempt?.action ?? job?.action ?? null,
    place: placeOf(event),
    hook_id: hook.id,
    ...summary,
    causes,
    duplicates_until: event ? duplicatesUntil(event).toISOString() : null,
    redeliverable: !isKeptBack(known),
    steps: stepsOf(known),
  };
}

/**
 * A successful delivery is done, whatever was asked for later. Otherwise a waiting delivery tells more than a failed one, and the newest
 * attempt more than earlier ones.
 */
function summarize(known: Known): Summary {
  const asked = known.attempts.find(({ id }) => Number(id) === known.asked);
  if (asked && isDelivered(asked)) return summarizeDone(known, asked);
  const waiting = waitingOf(known);
  if (waiting) return withInactiveNote(known, summarizeWaiting(known, waiting));
  const last = known.attempts.at(-1);
  if (last) return summarizeDone(known, last);
  const causes = causesOf(known);
  return causes ? summarizeNeverMade(causes) : summarizeHandedOver(known);
}

/** Whether a hook may get deliveries is checked only when its turn comes. */
function withInactiveNote({ hook }: Known, summary: Summary): Summary {
  if (hook.isGone || (hook.active && !hook.restricted)) return summary;
  return {
    ...summary,
    sentence: `${summary.sentence} The hook is not active: no attempt is made unless it is active by then.`,
  };
}

function summarizeNeverMade(causes: Cause[]): Summary {
  const [first] = causes;
  return {
    delivery_id: null,
    state: 'never_made',
    since: null,
    until: null,
    sentence: `No delivery was made. ${first!.sentence}`,
    next: first!.next,
    causes,
  };
}

function summarizeDone(known: Known, attempt: AttemptRow): Summary {
  const done = { delivery_id: Number(attempt.id), since: endedAt(attempt).toISOString(), until: null };
  const which = attempt.redelivery ? 'a redelivery' : `attempt ${attempt.attempt}`;
  if (isDelivered(attempt)) {
    const sentence = `The receiver accepted it: ${which} was answered ${attempt.status_code} after ${attempt.duration_ms} ms.`;
    return { ...done, state: 'delivered', sentence, next: null };
  }
  const log = pathOf(known, attempt.id);
  return {
    ...done,
    state: 'failed',
    sentence: `The last attempt (${which}) failed: ${resultOf(attempt)}. There is no automatic further attempt${whyNoneFollows(known, attempt)}.`,
    next: `${adviceOn(known, attempt)} What was sent and answered: GET ${log}. Then ${again(known, attempt)}.`,
  };
}

function whyNoneFollows(known: Known, { status_code, event: type, redelivery }: AttemptRow): string {
  const { hook, event } = known;
  if (status_code === 410) return ': the receiver said that it is gone (410)';
  if (type === 'ping') return ': pings are not retried';
  if (!redelivery && (event?.source === ownSource || isTest(known))) return ': tests are not retried';
  if (!hook.isGone && !hook.retries) return ': retries of this hook are off';
  return '';
}

function summarizeWaiting(known: Known, row: WaitingRow): Summary {
  const job = readJob(row.job);
  const summaryOf = (since: Date | string, until: Summary['until'], sentence: string, next: string | null) => ({
    delivery_id: Number(row.delivery_id),
    state: stateOfWaiting[row.reason],
    since: new Date(since).toISOString(),
    until,
    sentence,
    next,
  });
  const due = row.due_at instanceof Date ? row.due_at : undefined;
  const before = known.attempts.findLast((attempt) => !isDelivered(attempt));
  switch (row.reason) {
    case 'limit':
      return summaryOf(
        job.throttledAt ?? row.parked_at,
        untilItsTurn(known),
        `It waits for its turn: deliveries of ${known.account.login} go out as fast as its limit allows.`,
        `Nothing needs to be done. With a larger limit (PUT /accounts/${known.account.login}/throttle, by an administrator of the installation) it goes out sooner.`,
      );
    case 'retry':
      return summaryOf(
        row.parked_at,
        timed(due, 'The next attempt is due then.'),
        before
          ? `Attempt ${before.attempt} failed: ${resultOf(before)}. Attempt ${job.attempt ?? before.attempt + 1} waits for its time.`
          : 'It will be sent again, because nothing was heard of it for a while.',
        before ? `${adviceOn(known, before)} To avoid the wait, ${again(known, before)}.` : null,
      );
    case 'busy':
      return summaryOf(
        row.parked_at,
        timed(due, 'It is tried again then, and keeps waiting while the receiver has no room.'),
        'The maximum number of attempts to this receiver is in flight.',
        'Let the receiver answer 2xx at once, and do its work afterwards.',
      );
    case 'paused':
      return summarizePaused(known, row, summaryOf);
    case 'handed_over':
      return {
        ...summarizeInFlight(known, row.published_at instanceof Date ? row.published_at : row.parked_at),
        delivery_id: Number(row.delivery_id),
      };
  }
}

function summarizePaused(
  { hook, account }: Known,
  row: WaitingRow,
  summaryOf: (since: Date, until: Summary['until'], sentence: string, next: string) => Summary,
): Summary {
  const paused = hook.isGone ? undefined : hook.paused;
  const since = paused && paused.at > row.parked_at ? paused.at : row.parked_at;
  const who = paused?.what === 'organization' ? `all deliveries of ${account.login}` : 'the deliveries of this hook';
  const path = paused?.what === 'organization' ? `organizations/${account.login}` : `hooks/${hook.id}`;
  return summaryOf(
    since,
    untilThat(`It waits until an administrator resumes ${who}.`),
    paused
      ? `Since ${paused.at.toISOString()}, ${who} have been paused.`
      : 'Deliveries were paused; it goes on in a moment.',
    `An administrator of the installation resumes them: DELETE /admin/${path}/pause.`,
  );
}

/** Its event was routed, or is being routed, and nothing else is stored. */
function summarizeHandedOver(known: Known): Summary {
  const event = known.event!;
  return {
    ...summarizeInFlight(known, event.routed_at ?? event.received_at),
    delivery_id: firstDeliveryId(known) ?? null,
  };
}

function summarizeInFlight({ now, deliveryTimeoutMs }: Known, since: Date): Omit<Summary, 'delivery_id'> {
  const at = new Date(since.getTime() + deliveryTimeoutMs);
  const reason = `An attempt takes at most ${deliveryTimeoutMs / 1000} s (DELIVERY_TIMEOUT_MS).`;
  const isOverdue = at < now;
  return {
    state: 'in_flight',
    since: since.toISOString(),
    until: isOverdue
      ? untilThat(
          'It was handed over longer ago than an attempt may take: it is still in the delivery queue, or RabbitMQ lost it. Lost deliveries are sent again after RESCUE_AFTER_SECONDS.',
        )
      : { ...untilThat(`${reason} Before that, it may wait in the delivery queue.`), at: at.toISOString() },
    sentence: 'It is in the delivery queue, or being sent right now; the stored data does not distinguish the two.',
    next: 'Nothing needs to be done. Ask again in a few seconds.',
  };
}

const untilThat = (reason: string) => ({ at: null, reason, place: null, rate: null });
const timed = (due: Date | undefined, reason: string): Summary['until'] => ({
  ...untilThat(reason),
  at: due?.toISOString() ?? null,
});

function untilItsTurn({ now, account, queue }: Known): Summary['until'] {
  if (!queue) return untilThat("When the account's limit lets it go.");
  const { before, isCounted, rate } = queue;
  const place = before + 1;
  const at = new Date(now.getTime() + (place / rate) * 1000);
  const about = isCounted ? 'Place' : 'About place';
  return {
    at: Number.isNaN(at.getTime()) ? null : at.toISOString(),
    reason: `${about} ${place.toLocaleString('en')} among those waiting for the limit of ${account.login}, which allows ${rate.toLocaleString('en')} per second.`,
    place,
    rate,
  };
}
