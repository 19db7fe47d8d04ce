/** How many sign-ups one network may try. `suspicious-ip-throttling` replaces the usual limit once it is on. */
import type { Rate } from '../accounts/rate.ts';
import { networkOf } from '../http/network.ts';
import type { AddressThrottle } from './address-throttle.ts';

/** Counts one, whatever comes of it; false when it is one too many. */
export type TakeSignup = (from: { ip: string; clientId: string }) => Promise<boolean>;

/** From one network. An office or a class may sign up together. */
const usual = { max: 60, windowSeconds: 60 };

export function makeTakeSignup({ rate, throttle }: { rate: Rate; throttle: AddressThrottle }): TakeSignup {
  return async ({ ip, clientId }) => {
    const network = networkOf(ip);
    const pass = await throttle.take('pre-user-registration', { ip, network, clientId });
    return pass ? pass.kind === 'open' : rate.take('signups', network, usual.max, usual.windowSeconds);
  };
}
