/**
 * An attempt at somebody's password or code, under the two limits of `attack-protection`: the address's
 * (`suspicious-ip-throttling`) and the account's (`brute-force-protection`, accounts/lockout.ts).
 */
import type { Attempt as Begun, Lockout } from '../accounts/lockout.ts';
import type { Subject } from '../accounts/subject.ts';
import { networkOf } from '../http/network.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { AddressThrottle } from './address-throttle.ts';
import { isListed } from './allowlist.ts';
import type { Bots } from './bots.ts';
import type { ProtectionEvents } from './events.ts';
import { protectionOf } from './settings.ts';
import type { WarnByMail } from './warning-mail.ts';

export type Closed = {
  kind: 'closed';
  seconds: number;
  /** Whether the account's limit was hit, or the address's. */
  reason: 'too_many_attempts' | 'too_many_from_address';
};

export type Attempt = Exclude<Begun, { kind: 'closed' }> | Closed;

/** The person's address, and the application. */
type Requester = { ip: string; clientId?: string | undefined };

export type AttemptLimits = {
  begin(subject: Subject, from: Requester): Promise<Attempt>;
  /** For a success that did not begin as a try. */
  clear(subjectKey: string, ip: string): Promise<void>;
  /** The networks locked out of the account; undefined stands for all networks. */
  closedFor(subjectKey: string): Promise<(string | undefined)[]>;
  open(subjectKey: string): Promise<void>;
};

/** Used as the network where tries are counted across all networks. */
const allNetworks = 'everywhere';

const unlimited: Extract<Begun, { kind: 'open' }> = {
  kind: 'open',
  failed: async () => false,
  succeeded: async () => {},
  takenBack: async () => {},
};

export function makeAttemptLimits(parts: {
  lockout: Lockout;
  throttle: AddressThrottle;
  settings: SettingsStore;
  events: ProtectionEvents;
  warnByMail: WarnByMail;
  bots: Pick<Bots, 'failed'>;
}): AttemptLimits {
  const { lockout, throttle, settings, events } = parts;
  const rulesOf = async () => protectionOf(await settings.load())['brute-force-protection'];
  type Rules = Awaited<ReturnType<typeof rulesOf>>;
  const counted = ({ mode }: Rules, network: string) => (mode === 'count_per_identifier' ? allNetworks : network);

  async function beginFor(subject: Subject, network: string, from: Requester): Promise<Attempt> {
    const rules = await rulesOf();
    if (!rules.enabled || isListed(rules.allowlist, network)) return unlimited;
    const attempt = await lockout.begin(subject.key, counted(rules, network), rules.max_attempts);
    if (attempt.kind === 'closed') {
      if (rules.shields.includes('block')) return { ...attempt, reason: 'too_many_attempts' };
      events.notBlocked({ ...from, network }, subject.userId);
      return unlimited;
    }
    if (attempt.kind === 'busy' || !rules.shields.includes('user_notification')) return attempt;
    return {
      ...attempt,
      async failed() {
        const isLast = await attempt.failed();
        if (isLast && subject.userId) parts.warnByMail('blocked_account', subject.userId, from);
        return isLast;
      },
    };
  }

  return {
    async begin(subject, from) {
      const network = networkOf(from.ip);
      const pass = await throttle.take('pre-login', { ...from, network });
      if (pass?.kind === 'closed') return { ...pass, reason: 'too_many_from_address' };
      const giveBack = async () => pass?.giveBack();
      const attempt = await beginFor(subject, network, from).catch(async (error) => {
        await giveBack();
        throw error;
      });
      if (attempt.kind === 'busy') await giveBack();
      if (attempt.kind !== 'open') return attempt;
      return {
        kind: 'open',
        async failed() {
          await parts.bots.failed(network, subject.typed);
          return attempt.failed();
        },
        succeeded: () => attempt.succeeded().then(giveBack),
        takenBack: () => attempt.takenBack().then(giveBack),
      };
    },
    async clear(subjectKey, ip) {
      await lockout.clear(subjectKey, counted(await rulesOf(), networkOf(ip)));
    },
    async closedFor(subjectKey) {
      const networks = await lockout.closedFor(subjectKey, (await rulesOf()).max_attempts);
      return networks.map((network) => (network === allNetworks ? undefined : network));
    },
    open: lockout.open,
  };
}
