/**
 * The cursor of a list of deliveries: where the next page begins. `v1_<id>` with the newest first, `v1_<sequence>_<id>` by number,
 * `v1_t<milliseconds>_<id>` by time.
 */
import { validationFailed } from '../http/errors.ts';
import type { PageStart } from './pages.ts';

export const writeCursor = (start: string): string => `v1_${start}`;

/** Where a page of all deliveries begins. @throws ApiError 422 for a cursor that we did not issue. */
export function readCursor(cursor: string | undefined): Extract<PageStart, { order: 'newest' }> {
  if (!cursor) return { order: 'newest', id: Number.MAX_SAFE_INTEGER };
  return { order: 'newest', id: integer('cursor', /^v1_([1-9]\d{0,15})$/.exec(cursor)?.[1]) };
}

/** Where a page of deliveries after a number begins. @throws ApiError 422 for a cursor that we did not issue, and for an invalid number. */
export function readSequenceCursor(afterSequence: string, cursor: string | undefined): PageStart {
  const after = integer('after_sequence', /^\d{1,16}$/.exec(afterSequence)?.[0]);
  if (!cursor) return { order: 'sequence', sequence: Math.min(after + 1, Number.MAX_SAFE_INTEGER), id: 0 };
  const [, sequence, id] = /^v1_([1-9]\d{0,15})_([1-9]\d{0,15})$/.exec(cursor) ?? [];
  return { order: 'sequence', sequence: integer('cursor', sequence), id: integer('cursor', id) };
}

/** Where a page of deliveries up to a time begins, latest first. @throws ApiError 422 for a cursor that we did not issue. */
export function readTimeCursor(
  until: string | undefined,
  cursor: string | undefined,
): Extract<PageStart, { order: 'time' }> {
  if (!cursor) return { order: 'time', at: until === undefined ? never : new Date(until), id: Number.MAX_SAFE_INTEGER };
  const [, ms, id] = /^v1_t(\d{1,15})_(\d{1,16})$/.exec(cursor) ?? [];
  return { order: 'time', at: new Date(integer('cursor', ms)), id: integer('cursor', id) };
}

/** Later than any delivery. */
const never = new Date('9999-12-31T00:00:00Z');

function integer(field: string, digits: string | undefined): number {
  const value = Number(digits);
  if (Number.isSafeInteger(value)) return value;
  throw validationFailed({ resource: 'Delivery', code: 'invalid', field });
}
