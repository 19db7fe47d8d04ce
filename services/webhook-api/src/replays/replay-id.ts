/** The `{replay_id}` of a path. */
import { validationFailed } from '../http/errors.ts';

/** @throws ApiError 422 for anything that cannot be one of our ids. */
export function replayId(params: Record<string, string>): number {
  const text = params.replay_id ?? '';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw validationFailed({ resource: 'Replay', code: 'invalid', field: 'replay_id' });
}
