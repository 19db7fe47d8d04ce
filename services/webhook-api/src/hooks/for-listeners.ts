/** Forbidden in the config of a `cli` hook: anyone who may change a hook may listen to it, and reads everything sent. */
import { validationFailed } from '../http/errors.ts';
import type { Config } from './config.ts';

/** Values of custom request headers are meant for one receiver (origin.ts), not for everyone who may listen. @throws ApiError 422. */
export function checkForListeners({ headers }: Config): void {
  if (Object.keys(headers).length === 0) return;
  const message = 'A cli webhook has no request headers of its own: everybody who may listen would read them';
  throw validationFailed({ resource: 'Hook', code: 'custom', field: 'request_headers', message });
}
