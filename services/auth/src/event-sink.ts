/** The gate's own events for RabbitMQ (contract section 6): off unless EVENTS_ACCOUNT names whose they are. */
import { randomUUID } from 'node:crypto';
import { openPublisher } from '@gatepost/amqp/publisher';
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
  /** Publishes and does not wait: an event that RabbitMQ cannot take is logged and lost, a login never is. */
  publish(type: GateEventType, payload: Record<string, unknown>): void;
};

export const noEvents: EventSink = { publish: () => {}, [Symbol.asyncDispose]: async () => {} };

/** While RabbitMQ is slow, so many wait for their confirm; what comes beyond is lost. */
const inFlightMax = 1_000;

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
  });
  const inFlight = new Set<Promise<void>>();
  return {
    publish(type, payload) {
      const id = randomUUID();
      if (inFlight.size >= inFlightMax)
        return void log.warn({ 'event.type': type }, 'an event was not published: too many wait');
      const publishing = publisher
        .publish({
          exchange: eventsExchange,
          routingKey: type,
          messageId: id,
          contentType: 'application/json',
          headers: {
            'cloudEvents:specversion': '1.0',
            'cloudEvents:id': id,
            'cloudEvents:source': options.issuer,
            'cloudEvents:type': type,
            'cloudEvents:subject': options.account,
            'cloudEvents:time': new Date().toISOString(),
          },
          body: Buffer.from(JSON.stringify(payload)),
        })
        .catch((error) => log.warn({ error: describeError(error), 'event.type': type }, 'an event was not published'))
        .finally(() => inFlight.delete(publishing));
      inFlight.add(publishing);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(inFlight);
      await publisher[Symbol.asyncDispose]();
    },
  };
}
