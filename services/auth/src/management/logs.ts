/** `logs`: the audit log, newest first; or, from a checkpoint on, oldest first, for log collectors. */
import { z } from 'zod';
import { Prisma } from '../database.ts';
import type { LogEntryModel } from '../generated/models.ts';
import { isLogType, logTypes } from '../log-types.ts';
import { lengthMax } from './lucene.ts';
import { type Answer, ok, operation } from './operation.ts';
import { chooseFields, fieldsQuery, list, pageQuery } from './paging.ts';
import type { Parts } from './parts.ts';
import { badQuery, ManagementProblem } from './problem.ts';
import { type Field, type Fields, searchCondition } from './search.ts';

const query = z.strictObject({
  ...pageQuery,
  ...fieldsQuery,
  from: z.string().optional(),
  take: z.coerce.number().int().min(1).max(100).optional(),
  q: z.string().max(lengthMax).optional(),
  search: z.string().max(lengthMax).optional(),
  sort: z
    .string()
    .regex(/^(?:date|log_id):-?1$/)
    .optional(),
});

export const listLogs = operation({ query, run: ({ parts, query: asked }) => page(parts, asked, Prisma.sql`true`) });

export const listLogsOfUser = operation({
  query,
  run: ({ parts, params, query: asked }) => page(parts, asked, Prisma.sql`log.user_id = ${params.id ?? ''}`),
});

export const getLog = operation({
  async run({ parts, params }) {
    const id = readId(params.id ?? '');
    const row = id === undefined ? null : await parts.db.logEntry.findUnique({ where: { id } });
    if (!row) throw new ManagementProblem(404, 'inexistent_log', 'Log not found');
    return ok(present(row));
  },
});

async function page(parts: Parts, asked: z.infer<typeof query>, of: Prisma.Sql): Promise<Answer> {
  const { q, search, sort, from, take, ...paging } = asked;
  const where = Prisma.sql`${of} AND ${searchCondition(q ?? search ?? '', logFields)}`;
  if (from !== undefined || take !== undefined) return since(parts, where, from, take ?? 50, paging);
  const order = sort?.endsWith(':1') ? Prisma.sql`ASC` : Prisma.sql`DESC`;
  const source = {
    async total() {
      const [row] = await parts.runSearch<{ count: string }>(
        Prisma.sql`SELECT count(*) AS count FROM logs log WHERE ${where}`,
      );
      return Number(row?.count ?? 0);
    },
    items: (window: { skip: number; take: number }) =>
      entries(parts, Prisma.sql`${where} ORDER BY log.id ${order} LIMIT ${window.take} OFFSET ${window.skip}`),
    key: ({ id }: LogEntryModel) => String(id),
  };
  return list('logs', paging, source, present);
}

/** Auth0's checkpoint: the entries after the one named `from`, a bare array. */
async function since(
  parts: Parts,
  where: Prisma.Sql,
  from: string | undefined,
  take: number,
  fields: object,
): Promise<Answer> {
  const after = from === undefined ? 0n : readId(from);
  if (after === undefined) throw badQuery('`from` is no log id');
  const rows = await entries(
    parts,
    Prisma.sql`${where} AND log.id > ${String(after)}::bigint ORDER BY log.id LIMIT ${take}`,
  );
  return ok(rows.map((row) => chooseFields(present(row), fields)));
}

async function entries({ db, runSearch }: Parts, chosen: Prisma.Sql): Promise<LogEntryModel[]> {
  const found = await runSearch<{ id: string }>(Prisma.sql`SELECT log.id FROM logs log WHERE ${chosen}`);
  const ids = found.map(({ id }) => BigInt(id));
  const byId = new Map((await db.logEntry.findMany({ where: { id: { in: ids } } })).map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Wide enough that ids sort as text too. */
const idLength = 20;

const text = (column: Prisma.Sql): Field => ({ holds: 'text', sql: column });
const columns: Record<string, Field> = {
  type: text(Prisma.sql`log.type`),
  client_id: text(Prisma.sql`log.client_id`),
  user_id: text(Prisma.sql`log.user_id`),
  ip: text(Prisma.sql`log.ip`),
};
const fields: Record<string, Field> = {
  ...columns,
  date: { holds: 'date', sql: Prisma.sql`log.date` },
  log_id: text(Prisma.sql`lpad(log.id::text, ${idLength}::int, '0')`),
  description: text(Prisma.sql`(${JSON.stringify(logTypes)}::jsonb ->> log.type)`),
};
/** Fields of Auth0 that no entry has here. */
const absent = new Set([
  'client_name',
  'connection',
  'connection_id',
  'hostname',
  'organization_id',
  'strategy',
  'strategy_type',
  'user_agent',
  'user_name',
]);
const logFields: Fields = {
  find: (name) => (Object.hasOwn(fields, name) ? fields[name] : absent.has(name) ? { holds: 'nothing' } : undefined),
  anywhere: Object.values(columns),
};

function makeId(id: bigint): string {
  return String(id).padStart(idLength, '0');
}

function readId(id: string): bigint | undefined {
  if (!/^\d{1,20}$/.test(id)) return undefined;
  const value = BigInt(id);
  return value < 2n ** 63n ? value : undefined;
}

function present(row: LogEntryModel): object {
  const id = makeId(row.id);
  return {
    _id: id,
    log_id: id,
    date: row.date.toISOString(),
    type: row.type,
    description: isLogType(row.type) ? logTypes[row.type] : '',
    ...(row.clientId !== null && { client_id: row.clientId }),
    ...(row.userId !== null && { user_id: row.userId }),
    ...(row.ip !== null && { ip: row.ip }),
    details: row.details,
  };
}
