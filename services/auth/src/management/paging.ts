/**
 * Auth0’s two kinds of paging: `page`, `per_page` and `include_totals`, or checkpoints by `from` and `take`; and `fields` with
 * `include_fields`, which choose the properties shown of each item.
 */
import { z } from 'zod';
import { type Answer, ok } from './operation.ts';
import { badQuery } from './problem.ts';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const count = (max: number) => z.coerce.number().int().min(0).max(max);

export const pageQuery = {
  page: count(10_000).default(0),
  per_page: count(100).default(50),
  include_totals: flag.default(false),
};
export const checkpointQuery = { from: z.string().max(1_000).optional(), take: count(100).min(1).optional() };
export const fieldsQuery = { fields: z.string().max(1_000).optional(), include_fields: flag.default(true) };

export type ListQuery = {
  page?: number;
  per_page?: number;
  include_totals?: boolean;
  from?: string | undefined;
  take?: number | undefined;
  fields?: string | undefined;
  include_fields?: boolean;
};

/** The data of a list. `after` is the key of the last item before the checkpoint; items are ordered by key. */
export type Source<Item> = {
  total(): Promise<number>;
  items(window: { skip: number; take: number; after?: string }): Promise<Item[]>;
  key(item: Item): string;
};

const reachable = 1_000;

/** One page of the list, with its items presented, in the shape that the query asks for: by default a bare array. */
export async function list<Item>(
  name: string,
  query: ListQuery,
  source: Source<Item>,
  present: (item: Item) => object,
): Promise<Answer> {
  const show = (items: Item[]) => items.map((item) => chooseFields(present(item), query));
  if (query.from !== undefined || query.take !== undefined) {
    const take = query.take ?? 50;
    const after = query.from === undefined ? {} : { after: readCheckpoint(query.from) };
    const items = await source.items({ skip: 0, take: take + 1, ...after });
    const shown = items.slice(0, take);
    const last = shown.at(-1);
    const next = items.length > take && last !== undefined ? { next: makeCheckpoint(source.key(last)) } : {};
    return ok({ [name]: show(shown), ...next });
  }
  const { page = 0, per_page: limit = 50 } = query;
  const start = page * limit;
  if (start + limit > reachable)
    throw badQuery(`you can only page through the first ${reachable} records; use \`from\` and \`take\`, or a filter`);
  const items = limit === 0 ? [] : await source.items({ skip: start, take: limit });
  if (!query.include_totals) return ok(show(items));
  return ok({ start, limit, length: items.length, total: await source.total(), [name]: show(items) });
}

/** A list that is already complete in memory, because it is short. */
export function ofArray<Item>(all: Item[], key: (item: Item) => string): Source<Item> {
  const sorted = all.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return {
    total: async () => all.length,
    items: async ({ skip, take, after }) =>
      sorted.filter((item) => after === undefined || key(item) > after).slice(skip, skip + take),
    key,
  };
}

/** Keeps the fields that `fields` names, or all others. */
export function chooseFields(item: object, query: ListQuery): object {
  if (!query.fields) return item;
  const named = new Set(query.fields.split(',').map((field) => field.trim()));
  return Object.fromEntries(
    Object.entries(item).filter(([field]) => named.has(field) === (query.include_fields ?? true)),
  );
}

function makeCheckpoint(key: string): string {
  return Buffer.from(key).toString('base64url');
}

function readCheckpoint(from: string): string {
  const key = Buffer.from(from, 'base64url').toString();
  if (makeCheckpoint(key) !== from || key.includes('\0')) throw badQuery('`from` is no checkpoint of this list');
  return key;
}
