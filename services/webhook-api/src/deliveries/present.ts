/** Deliveries as clients see them (docs/reference/delivery.md). */
import { z } from 'zod';
import { ours } from '../http/operation.ts';
import type { DeliveryDetailRow } from './rows.ts';

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
    installation_id: z.int().nullable(),
    repository_id: z.int().nullable(),
    throttled_at: z.iso.datetime().nullable(),
    url: z.string().meta({ ...ours, description: 'Where it was sent; GitHub has this only for a single delivery' }),
    attempt: z.int().meta({ ...ours, description: 'Number of the attempt, from 1' }),
    sequence: z
      .int()
      .nullable()
      .meta({
        ...ours,
        description: "The event's number at this hook; null: a ping, a test, or a delivery of an earlier version",
      }),
    error: z
      .string()
      .nullable()
      .meta({ ...ours, description: 'The precise cause of a failure' }),
    timings: z
      .object({
        dns: milliseconds,
        connect: milliseconds,
        tls: milliseconds,
        first_byte: milliseconds,
        total: z.number(),
      })
      .meta({ ...ours, description: 'Milliseconds; null for a phase that did not take place' }),
  })
  .meta({ id: 'Delivery' });

const headersSchema = z.record(z.string(), z.string()).nullable();

export const deliveryDetailSchema = deliverySchema
  .extend({
    url: z.string(),
    request: z.object({
      headers: headersSchema,
      payload: z.record(z.string(), z.unknown()).nullable().meta({ description: "The event's payload" }),
    }),
    response: z.object({ headers: headersSchema, payload: z.string().nullable() }),
  })
  .meta({ id: 'DeliveryDetail' });

/**
 * A delivery `d` as JSON text, as an SQL expression. Listing deliveries is most of this service's work: PostgreSQL therefore returns one text
 * instead of twenty values per delivery that would be parsed only to be written again. (The session's time zone is UTC.)
 */
export const deliveryJson = `concat(
  '{"id":', d.id, ',"guid":"', d.guid, '","delivered_at":"', ${instant('d.delivered_at')}, '","redelivery":', d.redelivery::text,
  ',"duration":', d.duration_ms::float8 / 1000, ',"status":', to_json(d.status), ',"status_code":', d.status_code,
  ',"event":"', d.event, '","action":', ${nullable('to_json(d.action)')}, ',"installation_id":null,"repository_id":',
  ${nullable('d.repository_id')}, ',"throttled_at":', ${nullable(`'"' || ${instant('d.throttled_at')} || '"'`)},
  ',"url":', to_json(d.url), ',"attempt":', d.attempt, ',"sequence":', ${nullable('d.sequence')}, ',"error":', ${nullable('to_json(d.error)')}, ',"timings":', d.timings, '}')`;

function instant(column: string): string {
  return `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

function nullable(expression: string): string {
  return `coalesce((${expression})::text, 'null')`;
}

/** One delivery in full as JSON text. The payload is inserted as its producer wrote it: no number or key changes, and no copy is parsed. */
export function writeDetail(row: DeliveryDetailRow, payload: Buffer | undefined): Buffer {
  const head = `${row.json.slice(0, -1)},"request":{"headers":${row.request_headers},"payload":`;
  const received = JSON.stringify(row.response_body?.toString('utf8') ?? '');
  return Buffer.concat([
    Buffer.from(head),
    payload ?? Buffer.from('null'),
    Buffer.from(`},"response":{"headers":${row.response_headers},"payload":${received}}}`),
  ]);
}
