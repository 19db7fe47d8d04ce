/**
 * How many sign-ups one network may attempt. `suspicious-ip-throttling` replaces the usual limit where it refuses; where it only
 * reports, or exempts an allowlisted address, the usual limit stays.
 */
import type { Rate } from '../accounts/rate.ts';
import { networkOf } from '../http/network.ts';
import type { AddressThrottle } from './address-throttle.ts';
import type { Bots } from './bots.ts';

/** Counts one sign-up, whatever its outcome; false when it is one too many. */
export type TakeSignup = (from: { ip: string; clientId: string }) => Promise<boolean>;

/** Per network. An office or a class may sign up together. */
const usual = { max: 60, windowSeconds: 60 };

export function makeTakeSignup(parts: {
  rate: Rate;
  throttle: AddressThrottle;
  bots: Pick<Bots, 'signedUp'>;
}): TakeSignup {
  const { rate, throttle, bots } = parts;
  return async ({ ip, clientId }) => {
    const network = networkOf(ip);
    const pass = await throttle.take('pre-user-registration', { ip, network, clientId });
    await bots.signedUp(network);
    if (pass?.kind === 'closed') return false;
    return pass?.isLimited || rate.take('signups', network, usual.max, usual.windowSeconds);
  };
}
