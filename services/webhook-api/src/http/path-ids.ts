/** The ids in a path. */
import { notFound, validationFailed } from './errors.ts';

type Params = Record<string, string>;

export const guidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** `{hook_id}`, a number below 2^31. @throws ApiError 404: anything else names no hook. */
export function parseHookId({ hook_id: text = '' }: Params): number {
  const id = Number(text);
  if (!/^[1-9]\d{0,9}$/.test(text) || id > 0x7fffffff) throw notFound();
  return id;
}

/** `{delivery_id}`. @throws ApiError 422 for anything that cannot be one of our ids. */
export function parseDeliveryId({ delivery_id: text = '' }: Params): number {
  const id = Number(text);
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(id)) return id;
  throw validationFailed({ resource: 'Delivery', code: 'invalid', field: 'delivery_id' });
}

/** `{replay_id}`. @throws ApiError 422 for anything that cannot be one of our ids. */
export function parseReplayId({ replay_id: text = '' }: Params): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw validationFailed({ resource: 'Replay', code: 'invalid', field: 'replay_id' });
}

/** `{guid}`, in lower case. @throws ApiError 404. */
export function parseGuid({ guid: text = '' }: Params): string {
  if (!guidForm.test(text)) throw notFound();
  return text.toLowerCase();
}
