/** The `{delivery_id}` of a path. */
import { validationFailed } from '../http/errors.ts';

/** @throws ApiError 422 for anything that cannot be one of our ids. */
export function deliveryId(params: Record<string, string>): number {
  const text = params.delivery_id ?? '';
  const id = Number(text);
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(id)) return id;
  throw validationFailed({ resource: 'Delivery', code: 'invalid', field: 'delivery_id' });
}
