/** Reads the payloads of stored events. */
import type { QueryConfig } from 'pg';
import type { Pool } from './pool.ts';

/** The payload of a stored event; undefined when its partition is gone or it was stored without one. */
export async function findPayload(pool: Pool, eventKey: string, eventOn: string): Promise<Buffer | undefined> {
  const query = {
    name: 'payload',
    text: 'SELECT payload FROM events WHERE key = $1 AND received_on = $2',
    values: [eventKey, eventOn],
    // In text format 25 MB would arrive as a string of 50 million hexadecimal digits. (A pg option missing from its types.)
    binary: true,
    types: { getTypeParser: () => (value: Buffer) => value },
  };
  const { rows } = await pool.query<{ payload: Buffer | null }>(query as QueryConfig);
  return rows[0]?.payload ?? undefined;
}

/** SQL: `payload` as a job of at most `maxBytes` carries it: empty instead of one that is larger, which is not read. */
export const payloadOfJob = (maxBytes: string): string =>
  `CASE WHEN octet_length(payload) > ${maxBytes} THEN ''::bytea ELSE payload END AS payload`;

/** What a job carries of that payload; undefined, as above, when there is none. */
export async function findPayloadOfJob(
  pool: Pool,
  eventKey: string,
  eventOn: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const { rows } = await pool.query<{ payload: Buffer | null }>(
    `SELECT ${payloadOfJob('$3')} FROM events WHERE key = $1 AND received_on = $2`,
    [eventKey, eventOn, maxBytes],
  );
  return rows[0]?.payload ?? undefined;
}

/** The size of that payload, determined without reading it. */
export async function payloadBytes(pool: Pool, eventKey: string, eventOn: string): Promise<number | undefined> {
  const { rows } = await pool.query<{ bytes: number | null }>(
    'SELECT octet_length(payload) AS bytes FROM events WHERE key = $1 AND received_on = $2',
    [eventKey, eventOn],
  );
  return rows[0]?.bytes ?? undefined;
}
