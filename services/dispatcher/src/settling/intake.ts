/** Receives messages, and makes sure that each is settled. */
import type { Incoming } from '@gatepost/amqp/consumer';
import { traceparentOf } from '@gatepost/contracts/event-headers';
import type { Log } from '@gatepost/runtime/log';
import { type Span, type Tracing, tracing } from '@gatepost/runtime/tracing';
import { messageFields, spanAttributes } from '../log-fields.ts';
import { type Settle, type Verdict, verdictOf } from './settle.ts';

export type Intake = {
  /** The message is settled sooner or later. */
  receive(message: Incoming): void;
  /** How many are not settled. */
  inHand(): number;
  /** Resolves when everything received is settled. */
  idle(): Promise<void>;
};

/**
 * Makes an intake: the verdict of `decide` settles each message. An error that it throws becomes a verdict too, so that a fault of ours
 * does not bring the message back for ever.
 */
export function makeIntake(options: {
  settle: Settle;
  log: Log;
  decide: (message: Incoming) => Promise<Verdict>;
  /** The name of the work in traces. */
  name: string;
  onSettled?: (message: Incoming) => void;
}): Intake {
  const { settle, log, decide, name, onSettled } = options;
  let idle = Promise.withResolvers<void>();
  let inHand = 0;
  const work = async (message: Incoming) => {
    const span = tracing && beginSpan(tracing, name, message);
    let verdict: Verdict;
    try {
      verdict = await decide(message);
    } catch (error) {
      verdict = verdictOf(error);
      if (verdict.kind === 'dead_letter')
        log.error({ error, ...messageFields(message) }, 'could not process a message');
    }
    await settle(message, verdict);
    span?.end(
      { 'gatepost.settled': verdict.kind, 'gatepost.why': verdict.why },
      verdict.kind === 'dead_letter' ? verdict.why : undefined,
    );
    onSettled?.(message);
    inHand -= 1;
    if (inHand === 0) idle.resolve();
  };
  return {
    receive(message) {
      if (inHand === 0) idle = Promise.withResolvers<void>();
      inHand += 1;
      void work(message);
    },
    inHand: () => inHand,
    async idle() {
      while (inHand > 0) await idle.promise;
    },
  };
}

/** Begins the span that everything following from the message belongs to. */
function beginSpan(tracing: Tracing, name: string, message: Incoming): Span {
  const parent = traceparentOf(message);
  const attributes = { 'messaging.system': 'rabbitmq', ...spanAttributes(messageFields(message)) };
  const span = tracing.begin(name, { kind: 'consumer', parent, attributes });
  message.traceparent = span.traceparent;
  return span;
}
