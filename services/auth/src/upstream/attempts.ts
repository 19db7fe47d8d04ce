/**
 * Sign-ins in progress at a provider. Each has a `state` that counts once, within ten minutes, and only in the browser that was sent
 * there, which has the interaction's cookie or the session that asked for a link.
 */
import { randomBytes } from 'node:crypto';
import type { Seal } from '@gatepost/runtime/seal';
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { minute } from '../clients/lifetimes.ts';

export type Attempt = {
  /** Its purpose: an interaction, or a session that wants the identity linked to its account. */
  for: { kind: 'login'; uid: string } | { kind: 'link'; accountId: string; sessionUid: string; returnTo: string };
  connection: string;
  /** Where the answer is expected, compared exactly. */
  redirectUri: string;
  nonce: string;
  verifier?: string | undefined;
  /** The person must have authenticated there since then, in epoch seconds. */
  freshSince?: number | undefined;
  /** Whether the provider was asked to state that time. */
  asksAuthTime?: boolean | undefined;
};

export type Attempts = {
  /** @returns its `state` */
  begin(attempt: Attempt): Promise<string>;
  find(state: string): Promise<Attempt | undefined>;
  /** Like `find`, but only once. */
  redeem(state: string): Promise<Attempt | undefined>;
};

export const attemptSeconds = 10 * minute;

export function makeAttempts(redis: Redis, prefix: string, seal: Seal): Attempts {
  const keyOf = (state: string) => `${prefix}upstream:${hashId(state)}`;
  const open = (key: string, sealed: Buffer | null) =>
    sealed ? (JSON.parse(seal.open(sealed, key)) as Attempt) : undefined;
  return {
    async begin(attempt) {
      const state = randomBytes(32).toString('base64url');
      const key = keyOf(state);
      await redis.set(key, seal.seal(JSON.stringify(attempt), key), 'EX', attemptSeconds);
      return state;
    },
    find: async (state) => open(keyOf(state), await redis.getBuffer(keyOf(state))),
    redeem: async (state) => open(keyOf(state), await redis.getdelBuffer(keyOf(state))),
  };
}
