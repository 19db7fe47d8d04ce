/** `jobs/users-exports`: all people, or those of a connection, as a file; never with their hashes. */
import { z } from 'zod';
import { locationOf } from '../exports/exports.ts';
import { usualFields } from '../exports/lines.ts';
import type { Job } from './job-store.ts';
import { operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { missing } from './problem.ts';

export const createUsersExport = operation({
  body: z.strictObject({
    connection_id: z.string().max(256).optional(),
    format: z.enum(['json', 'csv']).default('json'),
    limit: z.int().min(1).max(10_000_000).optional(),
    fields: z
      .array(z.strictObject({ name: z.string().min(1).max(255), export_as: z.string().min(1).max(255).optional() }))
      .min(1)
      .max(100)
      .optional(),
  }),
  async run({ parts, body }) {
    const { connection_id: id, format, limit, fields = usualFields } = body;
    const connection = id === undefined ? undefined : (await parts.connections.list()).find((one) => one.id === id);
    if (id !== undefined && !connection) throw missing('connection', 'The connection does not exist.');
    const wanted = { connection: connection?.name ?? null, format, limit, fields };
    const job = await parts.jobs.create('users_export', wanted);
    const pending = { ...presentExport(parts, job, { isReadable: false }), status: 'pending' };
    return { status: 200, body: { ...pending, ...(id !== undefined && { connection_id: id }) } };
  },
});

/** @param isReadable whether the caller may read people: others, who may see jobs, are not told where the file is */
export function presentExport(
  parts: Pick<Parts, 'issuer' | 'exportLinks'>,
  job: Job,
  { isReadable }: { isReadable: boolean },
) {
  const { export: wanted, ...rest } = job;
  const { format, limit, fields } = wanted!;
  return {
    ...rest,
    status: 'completed',
    format,
    ...(limit !== undefined && { limit }),
    fields,
    ...(isReadable && { location: locationOf(parts, job.id, format) }),
    percentage_done: 100,
  };
}
