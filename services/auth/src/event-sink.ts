/** The gate's own events for RabbitMQ (docs/reference/events.md): off unless EVENTS_ACCOUNT names whose they are. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { userOf } from '@gatepost/amqp/connection';
import { NotPublished, type Outgoing, openPublisher } from '@gatepost/amqp/publisher';
import { attributeHeaders } from '@gatepost/contracts/event';
import { eventsExchange, topology } from '@gatepost/contracts/topology';
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Registry } from '@gatepost/runtime/metrics';

export type GateEventType =
  | 'user_signed_up'
  | 'user_logged_in'
  | 'login_failed'
  | 'consent_granted'
  | 'token_revoked'
  | 'client_created'
  | 'client_updated';

export type EventSink = AsyncDisposable & {
  /**
   * Publishes and does not wait: while RabbitMQ is away events are kept for it, so many; one that cannot be kept, or that RabbitMQ does
   * not take, is logged and lost, a login never is.
   */
  publish(type: GateEventType, payload: Record<string, unknown>): void;
};

export const noEvents: EventSink = { publish: () => {}, [Symbol.asyncDispose]: async () => {} };

/** While RabbitMQ is slow or away, so many wait; what comes beyond is lost. */
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
  const publisher = await openPublisher({
    url: options.amqpUrl,
    name: 'gatepost-auth',
    log,
    registry: options.registry,
    topology,
    userId: userOf(options.amqpUrl), // the gate is a producer like any other (PRODUCERS_FILE)
    waitForConnect: false, // a gate that starts without RabbitMQ issues tokens, and connects later
  });
  const closing = new AbortController();
  /** The same id every time: whoever reads them knows a second copy by it. */
  const publishWhenConnected = async (message: Outgoing): Promise<void> => {
    for (;;)
      try {
        return await publisher.publish(message);
      } catch (error) {
        const away = error instanceof NotPublished && error.code === 'not_connected';
        if (!away || closing.signal.aborted) throw error;
        await wait(retryMs, undefined, { signal: closing.signal }).catch(() => {}); // one last try then
      }
  };
  const inFlight = new Set<Promise<void>>();
  return {
    publish(type, payload) {
      const id = randomUUID();
      if (inFlight.size >= inFlightMax)
        return void log.warn({ 'event.type': type }, 'an event was not published: too many wait');
      const publishing = publishWhenConnected({
        exchange: eventsExchange,
        routingKey: type,
        messageId: id,
        contentType: 'application/json',
        headers: attributeHeaders({
          id,
          source: options.issuer,
          type,
          subject: options.account,
          time: new Date().toISOString(),
        }),
        body: Buffer.from(JSON.stringify(payload)),
      })
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
