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

export function presentDelivery(row: DeliveryRow): z.infer<typeof deliverySchema> {
  return {
    id: Number(row.id),
    guid: row.guid,
    delivered_at: row.delivered_at.toISOString(),
    redelivery: row.redelivery,
    duration: row.duration_ms / 1000,
    status: row.status,
    status_code: row.status_code,
    event: row.event,
    action: row.action,
    installation_id: null,
    repository_id: row.repository_id,
    throttled_at: row.throttled_at?.toISOString() ?? null,
    url: row.url,
    attempt: row.attempt,
    error: row.error,
    timings: row.timings,
  };
}

/** One delivery as JSON text. The payload goes in as the producer wrote it: no number or key is changed, and no copy is parsed. */
export function presentDetail(row: DeliveryDetailRow, payload: Buffer | null): Buffer {
  const head = `${JSON.stringify(presentDelivery(row)).slice(0, -1)},"request":{"headers":${JSON.stringify(row.request_headers)},"payload":`;
  const response = { headers: row.response_headers, payload: row.response_body?.toString('utf8') ?? '' };
  return Buffer.concat([
    Buffer.from(head),
    payload ?? Buffer.from('null'),
    Buffer.from(`},"response":${JSON.stringify(response)}}`),
  ]);
}
