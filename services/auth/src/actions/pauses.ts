/**
 * Sign-ins that an action has sent elsewhere. What was decided so far is stored here, sealed, for an hour; the interaction holds its id. The
 * browser leaves with a `state`, returns with it to `/continue`, and is sent on to the interaction, whose cookie proves that it is the browser
 * that left. Pause, state and answer are each redeemed once, by one command: the answer and the `state` at the interaction, the pause itself
 * where the actions continue.
 */
import { randomBytes } from 'node:crypto';
import type { Seal } from '@gatepost/runtime/seal';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { interactionLifetime } from '../clients/lifetimes.ts';
import type { Paused } from './runner.ts';

export type Pause = Paused & {
  accountId: string;
  /** Where the person was sent, without the state. */
  url: string;
};

/** The request to `/continue`. */
export type Answer = { state: string; method: string; query: Record<string, string>; body: Record<string, string> };

export type Pauses = {
  /** @returns its id */
  begin(pause: Pause): Promise<string>;
  /** Where this interaction's browser goes; the same on each reload. Undefined when the pause is over. */
  addressOf(id: string, uid: string): Promise<string | undefined>;
  /** The interaction that a state belongs to. */
  interactionOf(state: string): Promise<string | undefined>;
  /** @returns a single-use name for the answer; undefined when its state has had too many */
  keepAnswer(answer: Answer): Promise<string | undefined>;
  /** Spends the answer and its state, if it is an answer to this interaction. @returns a new single-use name for it */
  acceptAnswer(name: string, uid: string): Promise<string | undefined>;
  /** Takes the pause and the answer to it, once. */
  resume(id: string, name: string): Promise<{ pause: Pause; answer: Answer } | undefined>;
};

const ttlSeconds = interactionLifetime.answered;
/** More than any person sends; an answer may be large. */
const answersMax = 20;
/** It takes three redirects from `/continue` to where the actions continue. */
const answerSeconds = 300;

export function makePauses(redis: Redis, prefix: string, seal: Seal): Pauses {
  const keyOf = (kind: string, name: string) => `${prefix}action-${kind}:${hashId(name)}`;
  const save = async (kind: string, name: string, value: unknown, seconds: number) => {
    const key = keyOf(kind, name);
    await redis.set(key, seal.seal(JSON.stringify(value), key), 'EX', seconds);
  };
  const open = <T>(key: string, sealed: Buffer | null) =>
    sealed ? (JSON.parse(seal.open(sealed, key)) as T) : undefined;
  const find = async <T>(kind: string, name: string) => {
    const key = keyOf(kind, name);
    return open<T>(key, await redis.getBuffer(key));
  };
  const take = async <T>(kind: string, name: string) => {
    const key = keyOf(kind, name);
    return open<T>(key, await redis.getdelBuffer(key));
  };
  const saveAnswer = async (answer: Answer) => {
    const name = randomName();
    await save('answer', name, answer, answerSeconds);
    return name;
  };
  return {
    async begin(pause) {
      const id = randomName();
      await save('pause', id, { ...pause, state: randomName() }, ttlSeconds);
      return id;
    },
    async addressOf(id, uid) {
      const pause = await find<Pause & { state: string }>('pause', id);
      if (!pause) return undefined;
      await save('state', pause.state, uid, ttlSeconds);
      const address = new URL(pause.url);
      // Replaces a `state` of the action's own, which could belong to another sign-in.
      address.searchParams.set('state', pause.state);
      return address.href;
    },
    interactionOf: (state) => find<string>('state', state),
    async keepAnswer(answer) {
      const key = keyOf('answers', answer.state);
      const counted = await redis.multi().incr(key).expire(key, ttlSeconds, 'NX').exec();
      return Number(counted?.[0]?.[1]) > answersMax ? undefined : saveAnswer(answer);
    },
    async acceptAnswer(name, uid) {
      const answer = await take<Answer>('answer', name);
      if (!answer || (await find<string>('state', answer.state)) !== uid) return undefined;
      return (await take('state', answer.state)) === uid ? saveAnswer(answer) : undefined;
    },
    async resume(id, name) {
      const answer = await take<Answer>('answer', name);
      const pause = answer && (await find<Pause & { state: string }>('pause', id));
      if (!pause || pause.state !== answer.state || !(await take('pause', id))) return undefined;
      return { pause, answer };
    },
  };
}

const randomName = () => randomBytes(32).toString('base64url');
