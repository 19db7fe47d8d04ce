/** Detects noisy neighbours, accounts that now send far more than others: counts events by account, without parsing them. */
import type { Incoming } from '@gatepost/amqp/consumer';
import { subjectInHeaders } from '@gatepost/contracts/event';

export type NoisyNeighbours = {
  /** Counts an event of this account and says whether the account floods. Events of unknown accounts are never a flood. */
  count(account: string | undefined): boolean;
  /** Whether anybody but `account` has sent something in the last minute. */
  hasOthers(account: string | undefined): boolean;
};

/** How many events an account may send per window without disturbing others. */
const perWindow = 200;
const windowMs = 1_000;
const othersMs = 60_000;

export function makeNoisyNeighbours(now = () => performance.now()): NoisyNeighbours {
  let counts = new Map<string, number>();
  let before = new Map<string, number>();
  let windowStart = now();
  // The last two distinct accounts are enough to tell whether there are others.
  let last: { account: string | undefined; at: number } | undefined;
  let lastOther: { at: number } | undefined;

  const turnWindow = () => {
    const passed = now() - windowStart;
    if (passed < windowMs) return;
    before = passed < 2 * windowMs ? counts : new Map();
    counts = new Map();
    windowStart = now();
  };
  return {
    count(account) {
      turnWindow();
      if (last && last.account !== account) lastOther = last;
      last = { account, at: now() };
      if (account === undefined) return false;
      const count = (counts.get(account) ?? 0) + 1;
      counts.set(account, count);
      // An account that flooded the last window floods until it has stayed below this for a whole window.
      return count > perWindow || (before.get(account) ?? 0) > perWindow;
    },
    hasOthers(account) {
      const other = last?.account === account ? lastOther : last;
      return other !== undefined && now() - other.at < othersMs;
    },
  };
}

/** The account from the subject header, in either form. Undefined for structured events, whose attributes are in the body. */
export function accountOf(message: Pick<Incoming, 'contentType' | 'headers' | 'account'>): string | undefined {
  if (message.account === undefined) {
    const subject = subjectInHeaders(message);
    message.account = typeof subject === 'string' ? subject.split('/', 1)[0]!.toLowerCase() : null;
  }
  return message.account ?? undefined;
}
