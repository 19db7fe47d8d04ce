/** Guards sign-ins and sign-ups against attacks; each part is configured by `attack-protection` (settings.ts). */
import type { Mac } from '../keys/mac.ts';
import { makeAddressThrottle } from './address-throttle.ts';
import { makeAttemptLimits } from './attempt-limits.ts';
import { makeBots } from './bots.ts';
import { makeBreachedPasswords } from './breached/breached-passwords.ts';
import { makeProtectionEvents } from './events.ts';
import { makeProofOfWork } from './proof-of-work.ts';
import { makeRisk } from './risk.ts';
import { makeTakeSignup } from './signups.ts';
import { makeWarnByMail } from './warning-mail.ts';

type Given = { challengeMac: Mac } & Pick<Parameters<typeof makeBreachedPasswords>[0], 'isBreached'> &
  Parameters<typeof makeProtectionEvents>[0] &
  Parameters<typeof makeWarnByMail>[0] &
  Omit<
    Parameters<typeof makeAddressThrottle>[0] & Parameters<typeof makeAttemptLimits>[0],
    'events' | 'throttle' | 'warnByMail' | 'bots'
  >;

export function makeProtection(given: Given) {
  const events = makeProtectionEvents(given);
  const warnByMail = makeWarnByMail(given);
  const throttle = makeAddressThrottle({ ...given, events });
  const provider = makeProofOfWork({ ...given, mac: given.challengeMac });
  const bots = makeBots({ ...given, provider, risk: makeRisk(given.redis, given.prefix), events });
  return {
    bots,
    breached: makeBreachedPasswords({ ...given, events, warnByMail }),
    attemptLimits: makeAttemptLimits({ ...given, events, warnByMail, throttle, bots }),
    takeSignup: makeTakeSignup({ ...given, throttle, bots }),
  };
}
