/** When a client's published keys are read again, at the clock of the test. */
import { beforeEach, expect, test } from '@jest/globals';
import { followClientKeys, type RemoteKeys } from './client-keys.ts';

let nowMs = 0;
let published: string[] = [];
let reads = 0;
/** How long the client says its keys may be kept. */
let maxAgeSeconds = 60;
let keys: RemoteKeys;

/** As the library's keystore of a client behaves. */
function makeKeys(): RemoteKeys {
  let held: string[] = [];
  return {
    fresh() {
      return (this.freshUntil ?? 0) > Math.floor(nowMs / 1000);
    },
    async refresh() {
      reads += 1;
      await Promise.resolve();
      if (published.length === 0) throw new Error('no answer');
      held = published;
      this.freshUntil = Math.floor(nowMs / 1000) + maxAgeSeconds;
    },
    selectForVerify: ({ kid }) => held.filter((each) => each === kid).map((each) => ({ kid: each })),
  };
}
/** As it verifies: what it has, else what it reads, once. */
async function isKnown(kid: string): Promise<boolean> {
  if (keys.selectForVerify({ alg: 'ES256', kid }).length > 0) return true;
  if (keys.fresh()) return false;
  await keys.refresh();
  return isKnown(kid);
}
const wait = (seconds: number) => {
  nowMs += seconds * 1000;
};

beforeEach(() => {
  nowMs = 1_000_000_000;
  published = ['a'];
  reads = 0;
  maxAgeSeconds = 60;
  keys = makeKeys();
  followClientKeys(keys, () => nowMs);
});

test('a client’s keys are fetched once, even by many concurrent requests', async () => {
  expect(await Promise.all(['a', 'a', 'a'].map(isKnown))).toEqual([true, true, true]);
  wait(50);
  expect(await isKnown('a')).toBe(true);
  expect(reads).toBe(1);
});

test('a key that a client has rotated in works at once, and the replaced key no longer does', async () => {
  await isKnown('a');
  wait(1);
  published = ['b'];
  expect([await isKnown('b'), await isKnown('a')]).toEqual([true, false]);
});

test('made-up key ids cause at most five fetches a minute', async () => {
  for (let tries = 0; tries < 200; tries += 1) {
    expect(await isKnown(`made-up-${tries}`)).toBe(false);
    wait(0.25);
  }
  expect(reads).toBe(5);
  expect(await isKnown('a')).toBe(true);
  wait(60);
  published = ['b'];
  expect(await isKnown('b')).toBe(true);
});

test('a withdrawn key is trusted for at most ten minutes, whatever the client’s cache headers say', async () => {
  maxAgeSeconds = 365 * 86_400;
  await isKnown('a');
  published = ['b'];
  wait(599);
  expect(await isKnown('a')).toBe(true);
  wait(2);
  expect(await isKnown('a')).toBe(false);
});

test('while a client’s jwks_uri does not answer, its keys stay valid for one more hour', async () => {
  await isKnown('a');
  published = [];
  for (let minutes = 0; minutes < 60; minutes += 2) {
    wait(120);
    expect(await isKnown('a')).toBe(true);
  }
  wait(120);
  await expect(isKnown('a')).rejects.toThrow('no answer');
  const before = reads;
  for (let tries = 0; tries < 20; tries += 1) await isKnown('a').catch(() => {});
  expect(reads - before).toBeLessThanOrEqual(5);
});
