/** Deliveries as clients see them (GH section A.6; contract section 5). */
import { z } from 'zod';
import type { DeliveryDetailRow, DeliveryRow } from './rows.ts';

const milliseconds = z.number().nullable();

export const deliverySchema = z
  .object({
    id: z.int(),
    guid: z.uuid(),
    delivered_at: z.iso.datetime(),
    redelivery: z.boolean(),
    duration: z.number().meta({ description: 'Seconds' }),
    status: z.string().meta({ description: '`OK`, or what went wrong' }),
    status_code: z.int(),
    event: z.string(),
    action: z.string().nullable(),
    installation_id: z.null(),
    repository_id: z.int().nullable(),
    throttled_at: z.iso.datetime().nullable(),
    url: z.string(),
    attempt: z.int(),
    error: z.string().nullable().meta({ description: 'The precise cause of a failure' }),
    timings: z
      .object({
        dns: milliseconds,
        connect: milliseconds,
        tls: milliseconds,
        first_byte: milliseconds,
        total: z.number(),
      })
      .meta({ id: 'DeliveryTimings', description: 'Milliseconds; null for a phase that did not take place' }),
  })
  .meta({ id: 'Delivery' });

const headersSchema = z.record(z.string(), z.string()).nullable();

export const deliveryDetailSchema = deliverySchema
  .extend({
    request: z.object({
      headers: headersSchema,
      payload: z.record(z.string(), z.unknown()).nullable().meta({ description: "The event's payload" }),
    }),
    response: z.object({ headers: headersSchema, payload: z.string().nullable() }),
  })
  .meta({ id: 'DeliveryDetail' });

/** One delivery as JSON text, put together from PostgreSQL's texts: no value is read that goes out as it came in. */
export function writeDelivery(row: DeliveryRow): string {
  return (
    `{"id":${row.id},"guid":"${row.guid}","delivered_at":"${instant(row.delivered_at)}","redelivery":${row.redelivery === 't'},` +
    `"duration":${Number(row.duration_ms) / 1000},"status":${quote(row.status)},"status_code":${row.status_code},` +
    `"event":${quote(row.event)},"action":${quote(row.action)},"installation_id":null,"repository_id":${row.repository_id},` +
    `"throttled_at":${row.throttled_at === null ? null : `"${instant(row.throttled_at)}"`},"url":${quote(row.url)},` +
    `"attempt":${row.attempt},"error":${quote(row.error)},"timings":${row.timings}}`
  );
}

const quote = (text: string | null): string => JSON.stringify(text);

/** `2026-11-21 00:03:54.4+00`, as PostgreSQL writes it in a session whose time zone is UTC, as RFC 3339 with milliseconds. */
export function instant(text: string): string {
  const fraction = text[19] === '.' ? text.slice(20, text.indexOf('+', 20)) : '';
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(3, '0')}Z`;
}

/** One delivery in full as JSON text. The payload goes in as the producer wrote it: no number or key is changed, and no copy is parsed. */
export function writeDetail(row: DeliveryDetailRow, payload: Buffer | null): Buffer {
  const head = `${writeDelivery(row).slice(0, -1)},"request":{"headers":${row.request_headers},"payload":`;
  const received = quote(row.response_body?.toString('utf8') ?? '');
  return Buffer.concat([
    Buffer.from(head),
    payload ?? Buffer.from('null'),
    Buffer.from(`},"response":{"headers":${row.response_headers},"payload":${received}}}`),
  ]);
}
