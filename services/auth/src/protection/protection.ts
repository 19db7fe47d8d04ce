/** What guards sign-ins and sign-ups against attacks, each part steered by `attack-protection` (settings.ts). */
import { makeAddressThrottle } from './address-throttle.ts';
import { makeProtectionEvents } from './events.ts';
import { makeTakeSignup } from './signups.ts';
import { makeTries } from './tries.ts';
import { makeWarnByMail } from './warning-mail.ts';

type Given = Parameters<typeof makeProtectionEvents>[0] &
  Parameters<typeof makeWarnByMail>[0] &
  Omit<
    Parameters<typeof makeAddressThrottle>[0] & Parameters<typeof makeTries>[0],
    'events' | 'throttle' | 'warnByMail'
  >;

export function makeProtection(given: Given) {
  const events = makeProtectionEvents(given);
  const warnByMail = makeWarnByMail(given);
  const throttle = makeAddressThrottle({ ...given, events });
  return {
    tries: makeTries({ ...given, events, warnByMail, throttle }),
    takeSignup: makeTakeSignup({ ...given, throttle }),
  };
}
