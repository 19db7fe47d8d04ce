/**
 * The only place where messages are settled. Each message gets one verdict, with its reason: ack, give back, or dead letter. It is acked only
 * when everything that follows from it is durable.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Publisher } from '@gatepost/amqp/publisher';
import type { DeadReason } from '@gatepost/contracts/dead-reason';
import type { Log } from '@gatepost/runtime/log';
import { messageFields } from '../log-fields.ts';
import type { Metrics } from '../metrics.ts';
import { publishDeadLetter } from './dead-letter.ts';
import { isGivenUp, type Persist } from './persist.ts';
import { deadReasonOf } from './trouble.ts';

/** Why a message is done with. */
export type AckReason =
  /** An event: its deliveries are queued or parked, or it has none. */
  | 'routed'
  /** An event that another message brought. */
  | 'duplicate'
  /** A job, or an event whose single delivery was made here: its outcome is in the log. */
  | 'recorded'
  /** A job whose outcome was already in the log. */
  | 'recorded_before'
  /** A job that now waits in PostgreSQL. */
  | 'parked'
  /** A job that must not be made any more. */
  | 'cancelled';

export type GiveBackReason =
  /** This process is stopping; another dispatcher takes over. */
  | 'stopping'
  /** The connection that brought it is gone, and RabbitMQ will redeliver it. */
  | 'connection_lost'
  /** An event of a flooding account, left with RabbitMQ until its turn. */
  | 'held'
  /** Not even its dead letter could be published. */
  | 'not_buried';

export type Verdict =
  | { kind: 'ack'; why: AckReason }
  | { kind: 'give_back'; why: GiveBackReason }
  | { kind: 'dead_letter'; why: DeadReason; detail: string };

export const ack = (why: AckReason): Verdict => ({ kind: 'ack', why });
export const deadLetter = (why: DeadReason, detail: string): Verdict => ({ kind: 'dead_letter', why, detail });

/** All that is kept of a message that will only be given back: its body can go. */
export type Tag = Pick<Incoming, 'ack' | 'giveBack'>;

export type Settle = {
  (message: Incoming, verdict: Verdict): Promise<void>;
  (tag: Tag, verdict: { kind: 'give_back'; why: GiveBackReason }): Promise<void>;
};

/** Without this pause, a message that could not be buried would come back at once, and so on for ever. */
const notBuriedPauseMs = 10_000;

/** Makes the function that settles. It never rejects. */
export function makeSettle(parts: {
  publisher: Publisher;
  persist: Persist;
  metrics: Metrics;
  log: Log;
  giveUp: AbortSignal;
  /** For tests. */
  pause?: typeof wait;
}): Settle {
  const { publisher, persist, metrics, log, giveUp, pause = wait } = parts;
  const bury = async (message: Incoming, verdict: Verdict & { kind: 'dead_letter' }): Promise<Verdict> => {
    const { why, detail } = verdict;
    try {
      await persist('publish a dead letter', () => publishDeadLetter(publisher, message, why, detail));
      return verdict;
    } catch (error) {
      if (isGivenUp(error)) return { kind: 'give_back', why: error.why };
      log.error({ error, ...messageFields(message) }, 'could not publish a dead letter');
      await pause(notBuriedPauseMs, undefined, { signal: giveUp }).catch(() => {}); // stopping: it goes back at once
      return { kind: 'give_back', why: 'not_buried' };
    }
  };
  return async (message: Tag, asked: Verdict) => {
    const verdict = asked.kind === 'dead_letter' ? await bury(message as Incoming, asked) : asked;
    if (verdict.kind === 'give_back') message.giveBack();
    else message.ack();
    metrics.settled(verdict.kind, verdict.why);
    if (verdict.kind === 'dead_letter') metrics.eventDead(verdict.why, verdict.detail, message as Incoming);
  };
}

/** The verdict on a message that caused an error, after all sensible retries. */
export function verdictOf(error: unknown): Verdict {
  if (isGivenUp(error)) return { kind: 'give_back', why: error.why };
  const { reason, detail } = deadReasonOf(error);
  return deadLetter(reason, detail);
}
