/**
 * Who has proven a first factor, and has yet to prove or set up a second: kept for one interaction, which belongs to one browser.
 * Nobody is signed in by it. Sealed, since a new key and recovery codes are in it until they have been shown.
 */
import type { Seal } from '@gatepost/runtime/seal';
import type { Redis } from 'ioredis';
import type { AccountState } from '../accounts/store.ts';
import { hashId } from '../adapter/hashed.ts';
import type { MethodType } from './types.ts';

export type Pending = {
  account: AccountState;
  /** What was proven. */
  amr: string[];
  /** By which connection. */
  connection?: string | undefined;
  /** When, in epoch seconds. */
  at: number;
  /** `proven`: by Auth0’s API, where more may be asked for in the minutes that follow. `passkey`: all is proven, and one is offered. */
  due: 'challenge' | 'enrolment' | 'proven' | 'passkey';
  /** What it can be. */
  types: MethodType[];
  /** A session that exists asks for more; false: a login that is not one yet. */
  isStepUp: boolean;
  /** The log has the login already. */
  isReported: boolean;
  /** A remembered browser has spared the second factor. */
  isRemembered?: boolean;
  /** What is being set up. */
  enrolling?: {
    type: MethodType;
    secret?: string;
    target?: string;
    challenge?: string;
    userHandle?: string;
    /** Of Auth0’s API, which has shown them already: theirs once the method is confirmed. */
    recoveryCodes?: string[];
  };
  /** Where the last code was sent. */
  sentTo?: { type: 'email' | 'phone'; target: string };
  /** Of a security key. */
  challenge?: string;
  /** Of Auth0’s API: what the tokens will be for, the grant that they come from if there is one, and what the code that was sent is called there. */
  request?: { clientId: string; scope?: string; audience?: string; resource?: string; grantId?: string };
  oobCode?: string;
  /** The second factor is proven or set up; these are shown, then the login goes on. */
  recoveryCodes?: string[];
  /** By the second factor. */
  provenAmr?: string[];
  /** Epoch seconds. However often it changes, it ends. */
  until?: number;
};

export type PendingStore = {
  find(owner: string): Promise<Pending | undefined>;
  keep(owner: string, pending: Pending): Promise<void>;
  /** Removes it; undefined when it was removed already. */
  take(owner: string): Promise<Pending | undefined>;
  /** What a passkey is to sign before anybody is known. */
  keepChallenge(owner: string, challenge: string): Promise<void>;
  takeChallenge(owner: string): Promise<string | undefined>;
};

/** A first factor that is older is proven anew. */
const ttlSeconds = 900;

export function makePendingStore(redis: Redis, prefix: string, seal: Seal): PendingStore {
  const keyOf = (owner: string) => `${prefix}second-factor:${hashId(owner)}`;
  const challengeOf = (owner: string) => `${prefix}passkey-challenge:${hashId(owner)}`;
  const read = (key: string, stored: Buffer | null): Pending | undefined =>
    stored ? JSON.parse(seal.open(stored, key)) : undefined;
  return {
    async find(owner) {
      const key = keyOf(owner);
      return read(key, await redis.getBuffer(key));
    },
    async keep(owner, pending) {
      const key = keyOf(owner);
      const until = pending.until ?? Math.floor(Date.now() / 1000) + ttlSeconds;
      await redis.set(key, seal.seal(JSON.stringify({ ...pending, until }), key), 'EXAT', until);
    },
    async take(owner) {
      const key = keyOf(owner);
      return read(key, await redis.getdelBuffer(key));
    },
    async keepChallenge(owner, challenge) {
      await redis.set(challengeOf(owner), challenge, 'EX', ttlSeconds);
    },
    takeChallenge: async (owner) => (await redis.getdel(challengeOf(owner))) ?? undefined,
  };
}
