/** Where breached passwords are looked up: `BREACHED_PASSWORDS`, a file or a range service. */
import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { makeGuard } from '@gatepost/runtime/address';
import type { Log } from '@gatepost/runtime/log';
import { describeError } from '@gatepost/runtime/log';
import { makeAnsweredFetch } from '../../http/outside-fetch.ts';
import { makeFileLookup } from './file.ts';
import { makeRangeLookup, rangeMaxBytes } from './range-service.ts';

/** Whether a password's SHA-1, 40 hexadecimal digits in upper case, is among the known ones. @throws when that cannot be determined */
export type Lookup = (sha1: string) => Promise<boolean>;

/** Whether a password is known to be breached. Undefined: there is no source. */
export type IsBreached = (password: string) => Promise<boolean>;

/** After a failed lookup, the source is left alone for this long, so that nobody waits for it. */
const pauseMs = 5_000;

export function makeIsBreached(
  env: { BREACHED_PASSWORDS?: string | undefined; OUTBOUND_ALLOWED_NETWORKS: string[] },
  log: Log,
  now: () => number = Date.now,
): IsBreached | undefined {
  const { BREACHED_PASSWORDS: source } = env;
  if (source === undefined) return undefined;
  const lookup = source.startsWith('file:')
    ? makeFileLookup(fileURLToPath(source))
    : makeRangeLookup(source, makeAnsweredFetch(makeGuard(env.OUTBOUND_ALLOWED_NETWORKS), rangeMaxBytes));
  let pausedUntil = 0;
  return async (password) => {
    if (now() < pausedUntil) return false;
    try {
      return await lookup(hash('sha1', password, 'hex').toUpperCase());
    } catch (error) {
      // Nobody is kept out because the list is unavailable.
      pausedUntil = now() + pauseMs;
      log.warn({ error: describeError(error), paused_ms: pauseMs }, 'breached passwords could not be looked up');
      return false;
    }
  };
}
