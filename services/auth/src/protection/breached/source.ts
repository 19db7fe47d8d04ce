/** Where breached passwords are looked up: `BREACHED_PASSWORDS`, a file or a range service. */
import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { makeGuard } from '@gatepost/runtime/address';
import type { Log } from '@gatepost/runtime/log';
import { describeError } from '@gatepost/runtime/log';
import { makeAnsweredFetch } from '../../http/outside-fetch.ts';
import { makeFileLookup } from './file.ts';
import { makeRangeLookup, rangeMaxBytes } from './range-service.ts';

/** Whether the SHA-1 of a password is among those known, 40 hexadecimal digits in upper case. @throws when that cannot be said */
export type Lookup = (sha1: string) => Promise<boolean>;

/** Whether a password is known. Undefined: there is no source. */
export type IsBreached = (password: string) => Promise<boolean>;

/** After one that failed, nobody waits for another so soon. */
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
      // Nobody is kept out because a list is away.
      pausedUntil = now() + pauseMs;
      log.warn({ error: describeError(error), paused_ms: pauseMs }, 'breached passwords could not be looked up');
      return false;
    }
  };
}
