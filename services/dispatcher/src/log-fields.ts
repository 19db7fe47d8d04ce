/** Names a message's content in log lines by the same fields as a delivery (`jobFields`), so that it is found by guid or delivery id. */
import type { Incoming } from '@gatepost/amqp/consumer';
import { type DeliveryJob, jobHeader } from '@gatepost/contracts/delivery-job';
import { attributesInHeaders } from '@gatepost/contracts/event-headers';
import { eventGuid } from '@gatepost/contracts/event-identity';
import type { Attributes } from '@gatepost/runtime/tracing';

/** For an untrusted message: what it says about itself, as far as that can be read. */
export function messageFields(message: Pick<Incoming, 'headers' | 'messageId'>): Record<string, unknown> {
  return { 'message.id': message.messageId, ...contentFields(message) };
}

function contentFields({ headers }: Pick<Incoming, 'headers'>): Record<string, unknown> {
  const job = headers[jobHeader];
  if (typeof job === 'string') {
    try {
      const { deliveryId, guid } = JSON.parse(job) as Partial<DeliveryJob>;
      return { 'delivery.id': deliveryId, 'event.guid': guid };
    } catch {
      return {};
    }
  }
  const { id, source } = attributesInHeaders(headers);
  return typeof id === 'string' && typeof source === 'string' ? { 'event.guid': eventGuid({ id, source }) } : {};
}

/** The same names as span attributes, under a prefix: OpenTelemetry defines none for these. */
export function spanAttributes(fields: Record<string, unknown>): Attributes {
  const given = Object.entries(fields).filter(([name, value]) => value !== undefined && name !== 'trace_id');
  return Object.fromEntries(given.map(([name, value]) => [`gatepost.${name}`, value])) as Attributes;
}
