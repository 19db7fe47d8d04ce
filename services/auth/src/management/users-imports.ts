/** `jobs/users-imports`: imports people from elsewhere in bulk, with their password hashes. */
import { z } from 'zod';
import { isDeep } from '../http/json-depth.ts';
import { presentProgress } from '../imports/progress.ts';
import { createImport, findImport, type Import, pendingMax, refusedOf } from '../imports/store.ts';
import { ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { badBody, ManagementProblem, missing } from './problem.ts';

/** Far more than a user may have, whose own limit refuses only that user: what is deeper could not be stored, nor said whose it is. */
const depthMax = 200;

const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);

export const createUsersImport = operation({
  multipart: true,
  body: z.strictObject({
    users: z.string({ error: 'The form must have a file: users' }),
    connection_id: z.string().max(256),
    upsert: flag.default(false),
    external_id: z.string().max(256).optional(),
    // No mail is sent at the end; Auth0's clients send this field.
    send_completion_email: flag.optional(),
  }),
  async run({ parts, body, scopes }) {
    const { pool, seal, connections, imports } = parts;
    const connection = (await connections.list()).find(({ id }) => id === body.connection_id);
    if (!connection) throw missing('connection', 'The connection does not exist.');
    if (connection.strategy !== 'auth0') throw badBody('users can only be imported into a database connection');
    const job = await createImport(pool, seal, {
      connection_id: connection.id,
      connection: connection.name,
      upsert: body.upsert,
      external_id: body.external_id ?? null,
      held: [...scopes],
      users: parseUsers(body.users),
    });
    if (!job)
      throw new ManagementProblem(
        429,
        'too_many_requests',
        `There are ${pendingMax} active import users jobs, please wait until some of them are finished and try again`,
      );
    imports.begin();
    return { status: 202, body: presentImport(job) };
  },
});

/** The users who were not imported, each with the errors. */
export const listJobErrors = operation({
  async run({ parts, params }) {
    const refused = await refusedOf(parts.pool, params.id ?? '');
    if (refused) return refused.length > 0 ? ok(refused) : { status: 204 };
    if (await parts.jobs.find(params.id ?? '')) return { status: 204 };
    throw missing('job', 'The job does not exist.');
  },
});

/** Undefined if no import has that id. */
export async function presentedImport({ pool, importProgress }: Parts, id: string): Promise<object | undefined> {
  const found = await findImport(pool, id);
  if (found?.state !== 'pending') return found && presentImport(found);
  const progress = await importProgress.find(id);
  return { ...presentImport(found), ...(progress ? presentProgress(progress) : { percentage_done: 0 }) };
}

function presentImport(job: Import): object {
  const { inserted, updated, failed, total } = job;
  return {
    status: job.state,
    type: 'users_import',
    created_at: job.created_at.toISOString(),
    id: job.id,
    connection_id: job.connection_id,
    connection: job.connection,
    upsert: job.upsert,
    ...(job.external_id !== null && { external_id: job.external_id }),
    send_completion_email: false,
    ...(job.state !== 'pending' && { percentage_done: 100, summary: { failed, updated, inserted, total } }),
  };
}

/** A JSON array, as at Auth0. @throws ManagementProblem */
function parseUsers(text: string): unknown[] {
  if (isDeep(text, depthMax)) throw badBody(`users is nested more than ${depthMax} levels deep`);
  let users: unknown;
  try {
    users = JSON.parse(text);
  } catch {
    throw badBody('users is not JSON');
  }
  if (!Array.isArray(users) || users.length === 0) throw badBody('users must be a JSON array with at least one user');
  return users;
}
