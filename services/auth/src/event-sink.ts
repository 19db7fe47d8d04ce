/** The gate’s own events for RabbitMQ (docs/reference/events.md). Off unless EVENTS_ACCOUNT names their account. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { userOf } from '@gatepost/amqp/brokers';
import type { Outgoing } from '@gatepost/amqp/publisher';
import { reconnectCounter } from '@gatepost/amqp/reconnects';
import { attributeHeaders } from '@gatepost/contracts/event-headers';
import { eventsExchange, publishersTopology, traceHeader } from '@gatepost/contracts/topology';
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';
import { tracing } from '@gatepost/runtime/tracing';

export type GateEventType =
  | 'user_signed_up'
  | 'user_logged_in'
  | 'login_failed'
  | 'consent_granted'
  | 'token_revoked'
  | 'user_deleted'
  | 'client_created'
  | 'client_updated';

export type EventSink = AsyncDisposable & {
  /**
   * Publishes without waiting. While RabbitMQ is down, confirms nothing or takes nothing, a bounded number of events is kept; an event that
   * cannot be kept, or that is itself the cause, is logged and lost, but never makes a login fail.
   */
  publish(type: GateEventType, payload: Record<string, unknown>): void;
};

export const noEvents: EventSink = { publish: () => {}, [Symbol.asyncDispose]: async () => {} };

/** How many events wait while RabbitMQ is slow or down; further ones are lost. */
const inFlightMax = 1_000;
const retryMs = 500;

export async function openEventSink(options: {
  amqpUrl: string;
  issuer: string;
  account: string;
  log: Log;
  registry: Registry;
}): Promise<EventSink> {
  const { log } = options;
  const { NotPublished, openPublisher } = await import('@gatepost/amqp/publisher'); // most gates have no broker
  const publisher = await openPublisher({
    url: options.amqpUrl,
    name: 'gatepost-auth',
    log,
    reconnects: reconnectCounter(options.registry),
    topology: publishersTopology,
    userId: userOf(options.amqpUrl), // the gate is a producer like any other (PRODUCERS_FILE)
    // What is written again after a missing confirm takes memory once more.
    unconfirmedMax: { messages: inFlightMax, bytes: Number.POSITIVE_INFINITY },
    waitForConnect: false, // a gate that starts without RabbitMQ issues tokens, and connects later
  });
  const closing = new AbortController();
  /** Every attempt has the same id, by which consumers recognize a duplicate. */
  const publishWhenAccepted = async (message: Outgoing): Promise<void> => {
    for (;;)
      try {
        return await publisher.publish(message);
      } catch (error) {
        const away = error instanceof NotPublished && error.trouble === 'away';
        if (!away || closing.signal.aborted) throw error;
        await wait(retryMs, undefined, { signal: closing.signal }).catch(() => {}); // on closing, one last attempt follows
      }
  };
  const inFlight = new Set<Promise<void>>();
  return {
    publish(type, payload) {
      if (inFlight.size >= inFlightMax)
        return void log.warn({ 'event.type': type }, 'an event was not published: too many are waiting');
      const publishing = publishWhenAccepted(eventOf(options, type, payload))
        .catch((error) => log.warn({ error: describeError(error), 'event.type': type }, 'an event was not published'))
        .finally(() => inFlight.delete(publishing));
      inFlight.add(publishing);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all(inFlight);
      await publisher[Symbol.asyncDispose]();
    },
  };
}

function eventOf(
  { issuer, account }: { issuer: string; account: string },
  type: GateEventType,
  payload: object,
): Outgoing {
  const id = randomUUID();
  const traceparent = tracing?.current();
  return {
    exchange: eventsExchange,
    routingKey: type,
    messageId: id,
    contentType: 'application/json',
    headers: {
      ...attributeHeaders({
        id,
        source: issuer,
        type,
        subject: account,
        time: new Date().toISOString(),
      }),
      ...(traceparent !== undefined && { [traceHeader]: traceparent }),
    },
    body: Buffer.from(JSON.stringify(payload)),
  };
}
