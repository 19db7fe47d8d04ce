/** The cursor of a list of deliveries: `v1_<id>`, the id of the first delivery of the page it leads to. */
import { validationFailed } from '../http/errors.ts';

export const writeCursor = (id: string): string => `v1_${id}`;

/** @throws ApiError 422 for a cursor that we did not make. */
export function readCursor(cursor: string | undefined): number {
  if (cursor === undefined || cursor === '') return Number.MAX_SAFE_INTEGER;
  const id = Number(/^v1_([1-9]\d{0,15})$/.exec(cursor)?.[1]);
  if (Number.isSafeInteger(id)) return id;
  throw validationFailed({ resource: 'Delivery', code: 'invalid', field: 'cursor' });
}
