/** What the config of a `cli` hook must not hold: anyone who may change a hook may listen to it, and reads everything sent. */
import type { Config } from './config.ts';
import { refuse } from './refuse.ts';

/** Values of custom request headers are meant for one receiver (origin.ts), not for everyone who may listen. @throws ApiError 422. */
export function checkCliConfig({ headers }: Config): void {
  if (Object.keys(headers).length === 0) return;
  throw refuse(
    'request_headers',
    'A cli webhook has no request headers of its own: everybody who may listen would read them',
  );
}
