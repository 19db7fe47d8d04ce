/**
 * A person who has proven a first factor, and has yet to prove or set up a second: stored for one interaction, which belongs to one
 * browser. It signs nobody in. Sealed, since it holds a new key and recovery codes until they have been shown.
 */
import type { Seal } from '@gatepost/runtime/seal';
import type { Redis } from 'ioredis';
import type { AccountState } from '../accounts/store.ts';
import { hashId } from '../adapter/hashed.ts';
import { defineScript } from '../redis-script.ts';
import type { MethodType } from './types.ts';

export type Pending = {
  account: AccountState;
  /** What was proven. */
  amr: string[];
  /** The connection used. */
  connection?: string | undefined;
  /** When, in epoch seconds. */
  at: number;
  /** `proven`: by Auth0’s API, where more may be asked for in the next minutes. `passkey`: everything is proven, and one is offered. */
  due: 'challenge' | 'enrolment' | 'proven' | 'passkey';
  /** The possible methods. */
  types: MethodType[];
  /** True: an existing session asks for more; false: a login that is not yet a session. */
  isStepUp: boolean;
  /** The login is already in the log. */
  isReported: boolean;
  /** A remembered browser was spared the second factor. */
  isRemembered?: boolean;
  /** The method being set up. */
  enrolling?: {
    type: MethodType;
    secret?: string;
    target?: string;
    challenge?: string;
    userHandle?: string;
    /** From Auth0’s API, which has already shown them: they become valid once the method is confirmed. */
    recoveryCodes?: string[];
  };
  /** Where the last code was sent. */
  sentTo?: { type: 'email' | 'phone'; target: string };
  /** For a security key. */
  challenge?: string;
  /** For Auth0’s API: what the tokens will be for, the grant they come from if any, and (`oobCode`) the API's name for the code that was sent. */
  request?: { clientId: string; scope?: string; audience?: string; resource?: string; grantId?: string };
  oobCode?: string;
  /** The second factor is proven or set up; these are shown before the login continues. */
  recoveryCodes?: string[];
  /** Added by the second factor. */
  provenAmr?: string[];
  /** Epoch seconds. The end stays the same, however often the rest changes. */
  until?: number;
  /** As Redis holds it, where it was found there. The same sealed again has other bytes, so these tell whether anything took its place. */
  sealed?: Buffer;
};

export type PendingStore = {
  find(owner: string): Promise<Pending | undefined>;
  /** Replaces whatever is there. @returns it as it is found from now on */
  save(owner: string, pending: Pending): Promise<Pending>;
  /** Removes whatever is there; undefined when it was already removed. */
  take(owner: string): Promise<Pending | undefined>;
  /** Removes the one that was found; false, and nothing is removed, if another is there by now, or none. */
  takeSame(owner: string, found: Pending): Promise<boolean>;
  /** Replaces the one that was found, or none if none was. @returns it as it is found from now on; undefined if another is there by now, or none */
  replace(owner: string, found: Pending, by: Pending): Promise<Pending | undefined>;
  /** The challenge that a passkey is to sign before anybody is known. */
  keepChallenge(owner: string, challenge: string): Promise<void>;
  takeChallenge(owner: string): Promise<string | undefined>;
};

/** An older first factor must be proven again. */
const ttlSeconds = 900;

// KEYS: the pending login. ARGV: the one that was found, the one in its place (or nothing) and its end. Compares and replaces in one step.
const replaceScript = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'EXAT', ARGV[3]) end
return 1`;

export function makePendingStore(redis: Redis, prefix: string, seal: Seal): PendingStore {
  const pendingReplace = defineScript<0 | 1>(redis, 'pendingReplace', replaceScript, 1);
  const keyOf = (owner: string) => `${prefix}second-factor:${hashId(owner)}`;
  const challengeOf = (owner: string) => `${prefix}passkey-challenge:${hashId(owner)}`;
  const read = (key: string, stored: Buffer | null): Pending | undefined =>
    stored ? { ...JSON.parse(seal.open(stored, key)), sealed: stored } : undefined;
  const sealFor = (key: string, { sealed: _, ...pending }: Pending) => {
    const until = pending.until ?? Math.floor(Date.now() / 1000) + ttlSeconds;
    return { ...pending, until, sealed: seal.seal(JSON.stringify({ ...pending, until }), key) };
  };
  return {
    async find(owner) {
      const key = keyOf(owner);
      return read(key, await redis.getBuffer(key));
    },
    async save(owner, pending) {
      const key = keyOf(owner);
      const saved = sealFor(key, pending);
      await redis.set(key, saved.sealed, 'EXAT', saved.until);
      return saved;
    },
    async take(owner) {
      const key = keyOf(owner);
      return read(key, await redis.getdelBuffer(key));
    },
    takeSame: async (owner, { sealed = '' }) => (await pendingReplace(keyOf(owner), sealed, '', 0)) === 1,
    async replace(owner, { sealed = '' }, by) {
      const key = keyOf(owner);
      const saved = sealFor(key, by);
      return (await pendingReplace(key, sealed, saved.sealed, saved.until)) === 1 ? saved : undefined;
    },
    async keepChallenge(owner, challenge) {
      await redis.set(challengeOf(owner), challenge, 'EX', ttlSeconds);
    },
    takeChallenge: async (owner) => (await redis.getdel(challengeOf(owner))) ?? undefined,
  };
}
