/** Detects noisy neighbours, accounts that now send far more than others: counts events by who sends them, without parsing them whole. */
import type { Incoming } from '@gatepost/amqp/consumer';
import { subjectInHeaders } from '@gatepost/contracts/event-headers';
import { membersOf } from '@gatepost/contracts/json-members';
import { largeBytes } from '../routing/large-bytes.ts';

export type NoisyNeighbours = {
  /** Counts an event of this account and says whether the account floods. */
  count(account: string): boolean;
  /** Whether anybody but `account` has sent something in the last minute. */
  hasOthers(account: string): boolean;
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
  let last: { account: string; at: number } | undefined;
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

/** The account from the subject, in any form, unchecked. Undefined if there is none, or if it is unknown. */
export function accountOf(message: Pick<Incoming, 'contentType' | 'headers' | 'body' | 'account'>): string | undefined {
  if (message.account === undefined) {
    const subject = subjectInHeaders(message) ?? (isStructured(message) ? subjectInBody(message.body) : undefined);
    message.account = typeof subject === 'string' ? subject.split('/', 1)[0]!.toLowerCase() : null;
  }
  return message.account ?? undefined;
}

/** Whether the account can only be told by parsing: a large structured event that does not begin with its attributes. */
export const isAccountUnknown = (message: Parameters<typeof accountOf>[0]): boolean =>
  message.body.length > largeBytes && isStructured(message) && accountOf(message) === undefined;

const isStructured = ({ contentType = '' }: Pick<Incoming, 'contentType'>) =>
  /^\s*application\/cloudevents\+json\s*(;|$)/i.test(contentType);

/** How much of a structured event is searched at first: it may be megabytes, and its attributes mostly come first. */
const searchedBytes = 64 * 1024;
const wanted = new Set(['subject']);

/** The member `subject` of a JSON object, as the parser would have it. Undefined if there is none, or if a large one had to be read whole. */
function subjectInBody(body: Buffer): unknown {
  const found = firstSubject(body);
  // Of members with the same name the last counts.
  if (found && !body.includes('"subject"', found.end)) return found.text;
  const members = body.length > largeBytes ? undefined : membersOf(body, wanted);
  const span = members instanceof Map ? members.get('subject') : undefined;
  return span && JSON.parse(body.toString('utf8', span.start, span.end));
}

/** The first member `subject`, if it begins soon and is spelled without escapes. Accounts are ASCII, so the encoding does not matter. */
function firstSubject(body: Buffer): { text: string; end: number } | undefined {
  let depth = 0;
  let latest: string | undefined;
  let isSubject = false;
  // Strings, of which the last may be cut off, and what is between them.
  const tokens = /"([^"\\]*(?:\\.[^"\\]*)*)(?:"|\\?$)|[^"]+/gs;
  for (const { 0: token, 1: text, index } of body.toString('latin1', 0, searchedBytes).matchAll(tokens)) {
    if (text !== undefined && isSubject) {
      const isPlain = token.length === text.length + 2 && !text.includes('\\');
      return isPlain ? { text, end: index + token.length } : undefined;
    }
    isSubject = depth === 1 && latest === 'subject' && /^\s*:\s*$/.test(token);
    latest = text;
    if (text === undefined)
      for (const character of token)
        if (character === '{' || character === '[') depth += 1;
        else if (character === '}' || character === ']') depth -= 1;
  }
  return undefined;
}
