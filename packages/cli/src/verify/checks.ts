/** What a good receiver does, in the order of the checks. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { standardKey } from '../sign.ts';
import type { Answer, Delivery, Send } from './request.ts';

export type Check = {
  name: string;
  /** What will eventually go wrong in a receiver that fails the check. */
  why: string;
  /** A receiver that fails a check without `must` works, but could be better. */
  must: boolean;
  /** Null: it passed. Otherwise what it did instead. */
  run(send: Send, hook: Hook): Promise<string | null>;
  /** When the check applies. Default: always. */
  asked?(hook: Hook): boolean;
};

export type Hook = { secret: string; contentType: 'json' | 'form' | 'both' };

const payload = (action: string, title: string, more: object = {}) => ({
  action,
  issue: { id: 1, number: 7, title, state: action === 'closed' ? 'closed' : 'open' },
  repository: { id: 1, name: 'widgets', full_name: 'acme/widgets', private: false },
  sender: { id: 1, login: 'octocat', type: 'User' },
  ...more,
});
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const form = (json: Buffer) => Buffer.from(new URLSearchParams({ payload: json.toString() }).toString());

/** A valid delivery in the hook's content type. */
function good(hook: Hook, more: Partial<Delivery> & { json?: Buffer } = {}): Delivery {
  const { json = bytes(payload('opened', 'It rains in')), ...rest } = more;
  return hook.contentType === 'form'
    ? { event: 'issues', body: form(json), type: 'application/x-www-form-urlencoded', ...rest }
    : { event: 'issues', body: json, ...rest };
}

function accepted(answer: Answer): string | null {
  if ('error' in answer) return answer.error;
  return answer.status >= 200 && answer.status < 300 ? null : `answered ${answer.status}`;
}

function refused(answer: Answer): string | null {
  if ('error' in answer) return answer.error;
  if (answer.status >= 400 && answer.status < 500) return null;
  return answer.status < 300 ? `accepted it (${answer.status})` : `answered ${answer.status}, which is no refusal`;
}

/** How long a slow request waits for another one to be answered. */
const patienceMs = 3_000;

const megabytes = (count: number) => bytes(payload('opened', 'large', { text: 'x'.repeat(count * 1024 * 1024) }));

export const checks: Check[] = [
  {
    name: 'a signed delivery',
    why: 'Without this nothing else says anything.',
    must: true,
    run: async (send, hook) => accepted(await send(good(hook))),
  },
  {
    name: 'a ping',
    why: 'It is the first thing that a new hook sends.',
    must: true,
    run: async (send, hook) =>
      accepted(
        await send(good(hook, { event: 'ping', json: bytes({ zen: 'Keep it simple.', hook_id: 1, hook: {} }) })),
      ),
  },
  {
    name: 'refuses another secret’s signature',
    why: 'Anybody who knows the URL could make events up.',
    must: true,
    run: async (send, hook) => refused(await send(good(hook, { secret: 'another secret' }))),
  },
  {
    name: 'refuses a changed body',
    why: 'The signature must be computed, and over the body that is used.',
    must: true,
    run: async (send, hook) => refused(await send(good(hook, { signed: bytes(payload('closed', 'It rains in')) }))),
  },
  {
    name: 'refuses a missing signature',
    why: 'To check it only when it is there is not to check it.',
    must: true,
    run: async (send, hook) => refused(await send(good(hook, { secret: null }))),
  },
  {
    name: 'refuses an empty secret’s signature',
    why: 'A secret that was not configured must not be the empty one, which everybody knows.',
    must: true,
    run: async (send, hook) => refused(await send(good(hook, { secret: '' }))),
  },
  {
    name: 'refuses SHA-1 alone',
    why: 'X-Hub-Signature is sent for receivers of long ago; SHA-1 is broken.',
    must: true,
    run: async (send, hook) => refused(await send(good(hook, { only: 'sha1' }))),
  },
  {
    name: 'refuses what was recorded an hour ago',
    why: 'A whsec_ secret signs the time too: who recorded a delivery cannot send it again, if you check webhook-signature.',
    must: false,
    asked: ({ secret }) => standardKey(secret) !== null,
    run: async (send, hook) => refused(await send(good(hook, { only: 'recorded' }))),
  },
  {
    name: 'signs bytes, not characters',
    why: 'Whoever parses the body and writes it anew gets other bytes: escapes, spaces and large numbers change.',
    must: true,
    run: async (send, hook) => {
      const json = Buffer.from(
        '{ "action":"opened",  "n": 12345678901234567890, "title": "Grüße ☃ \\u2603 \\/ 日本 🎉" }',
      );
      return accepted(await send(good(hook, { json })));
    },
  },
  {
    name: 'a body that comes in pieces',
    why: 'Networks cut bodies anywhere, also within a character.',
    must: true,
    run: async (send, hook) => {
      // Pieces that a slow receiver finds together are one piece to it.
      const from = performance.now();
      await send(good(hook));
      const pauseMs = Math.min(300, Math.max(40, 2 * (performance.now() - from)));
      const json = bytes(payload('opened', '🎉'.repeat(60)));
      return accepted(await send(good(hook, { json, parts: { count: 12, pauseMs } })));
    },
  },
  {
    name: 'a body that breaks off',
    why: 'Connections end at any time. An error that nobody catches there ends many a program, and anybody could cause it.',
    must: true,
    run: async (send, hook) => {
      await send(good(hook, { breaksOff: true }));
      await wait(500);
      const after = accepted(await send(good(hook)));
      return after && `after it: ${after}`;
    },
  },
  {
    name: 'others while one is slow',
    why: 'One slow connection must not keep the rest waiting.',
    must: false,
    run: async (send, hook) => {
      let other: Promise<Answer> | undefined;
      let inTime: Answer | undefined;
      const halfway = async () => {
        other = send(good(hook));
        inTime = await Promise.race([other, wait(patienceMs, undefined, { ref: false })]);
      };
      const slow = await send(good(hook, { halfway }));
      await other;
      if (inTime) return accepted(inTime);
      return other ? 'kept another waiting until the slow one had ended' : accepted(slow);
    },
  },
  {
    name: 'a form',
    why: 'A hook may be set to content_type form; the signature is then over the whole form.',
    must: false,
    asked: ({ contentType }) => contentType === 'both',
    run: async (send, hook) => accepted(await send(good({ ...hook, contentType: 'form' }))),
  },
  {
    name: 'the same event twice',
    why: 'An attempt whose answer was lost is made again. Handle it once, and answer 2xx both times, or it never ends.',
    must: true,
    run: async (send, hook) => {
      const guid = randomUUID();
      const first = accepted(await send(good(hook, { guid })));
      const second = accepted(await send(good(hook, { guid })));
      return first ?? (second && `the second time it ${second}`);
    },
  },
  {
    name: 'events out of order',
    why: 'What failed comes later than what happened after it: go by the times within the payload.',
    must: true,
    run: async (send, hook) => {
      const closed = accepted(await send(good(hook, { json: bytes(payload('closed', 'later')) })));
      return closed ?? accepted(await send(good(hook, { json: bytes(payload('opened', 'earlier')) })));
    },
  },
  {
    name: 'an event it does not know',
    why: 'New types of events appear. An error for each is retried, and hides those that matter.',
    must: false,
    run: async (send, hook) =>
      accepted(await send(good(hook, { event: 'event_of_tomorrow', json: bytes({ new: true }) }))),
  },
  {
    name: 'ten at once',
    why: 'A hook is sent up to ten deliveries at a time.',
    must: true,
    run: async (send, hook) => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => send(good(hook))));
      const wrong = answers.map(accepted).filter((one) => one !== null);
      return wrong.length === 0 ? null : `${wrong.length} of 10: ${wrong[0]}`;
    },
  },
  {
    name: '1 MB',
    why: 'Many frameworks stop at 100 kB or 1 MB unless told otherwise.',
    must: true,
    run: async (send, hook) => accepted(await send(good(hook, { json: megabytes(1) }))),
  },
  {
    name: '20 MB',
    why: 'A payload may have up to 25 MB.',
    must: false,
    run: async (send, hook) => accepted(await send(good(hook, { json: megabytes(20) }))),
  },
  {
    name: 'GET and HEAD',
    why: 'Scanners and browsers ask too. Any answer will do, so that it is one and no server error.',
    must: false,
    run: async (send, hook) => {
      for (const method of ['GET', 'HEAD'] as const) {
        const answer = await send(good(hook, { method }));
        if ('error' in answer) return `${method}: ${answer.error}`;
        if (answer.status >= 500) return `${method}: answered ${answer.status}`;
      }
      return null;
    },
  },
  {
    name: 'still works after all this',
    why: 'What was refused must not keep anybody else waiting.',
    must: true,
    run: async (send, hook) => accepted(await send(good(hook))),
  },
];
