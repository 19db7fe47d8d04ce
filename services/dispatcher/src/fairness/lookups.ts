/**
 * Looks up the names of receivers, so that no account waits for the silent name servers of another. An account may have as many lookups in
 * progress as it leaves free; further ones wait here, the accounts in turn. A lookup counts until it ends, since it holds one of libuv's
 * threads for that long, even if its attempt has timed out. All who ask for a name while it is looked up share that lookup.
 */
import type { LookupFunction } from 'node:net';

export type LookupFor = (accountId: number) => LookupFunction;

type Answer = Parameters<LookupFunction>[2];
type Asked = { name: string; options: Parameters<LookupFunction>[1]; answer: Answer; untilMs: number };

/** `atOnce`: how many may be in progress; `waitMaxMs`: how long an attempt, and so its lookup, may wait. */
export function makeLookups(options: {
  lookup: LookupFunction;
  atOnce: number;
  waitMaxMs: number;
  now?: () => number;
}): LookupFor {
  const { lookup, atOnce, waitMaxMs, now = () => performance.now() } = options;
  /** Everybody who waits for a lookup in progress, by what was asked. */
  const inProgress = new Map<string, Answer[]>();
  const counts = new Map<number, number>();
  const waiting = new Map<number, Asked[]>();

  const countOf = (accountId: number) => counts.get(accountId) ?? 0;
  const hasRoom = (accountId: number) => countOf(accountId) < atOnce - inProgress.size;

  const begin = (accountId: number, question: string, { name, options, answer }: Asked) => {
    const answers = [answer];
    inProgress.set(question, answers);
    counts.set(accountId, countOf(accountId) + 1);
    lookup(name, options, (...found) => {
      inProgress.delete(question);
      const left = countOf(accountId) - 1;
      if (left > 0) counts.set(accountId, left);
      else counts.delete(accountId);
      for (const each of answers) each(...found);
      beginNext();
    });
  };
  const beginNext = () => {
    for (const [accountId, queue] of waiting) {
      if (!hasRoom(accountId)) continue;
      waiting.delete(accountId);
      const asked = queue.shift()!;
      if (queue.length > 0) waiting.set(accountId, queue); // behind the others
      if (asked.untilMs > now()) ask(accountId, asked);
      else asked.answer(tooLate(asked.name), '', 0);
    }
  };
  const ask = (accountId: number, asked: Asked) => {
    const question = JSON.stringify([asked.name, asked.options]);
    const answers = inProgress.get(question);
    if (answers) return void answers.push(asked.answer);
    if (hasRoom(accountId)) return begin(accountId, question, asked);
    const queue = waiting.get(accountId);
    if (queue) queue.push(asked);
    else waiting.set(accountId, [asked]);
  };
  return (accountId) => (name, options, answer) =>
    ask(accountId, { name, options, answer, untilMs: now() + waitMaxMs });
}

const tooLate = (name: string) =>
  Object.assign(new Error(`${name} waited too long for its lookup`), { code: 'ETIMEDOUT' });
