import { expect, test } from '@jest/globals';
import { hasRoom } from './room.ts';

const MiB = 1024 * 1024;

test('a process holds 128 MiB of deliveries for listeners, or a single larger delivery', () => {
  expect(hasRoom(20 * MiB, { own: 20 * MiB, all: 100 * MiB })).toBe(true);
  expect(hasRoom(30 * MiB, { own: 0, all: 100 * MiB })).toBe(false);
  expect(hasRoom(130 * MiB, { own: 0, all: 0 })).toBe(true);
});

test('a listener with little in flight still gets its small deliveries while other listeners read nothing', () => {
  const all = 128 * MiB;
  expect(hasRoom(20_000, { own: 0, all })).toBe(true);
  expect(hasRoom(20_000, { own: 100_000, all })).toBe(true);
  expect(hasRoom(20_000, { own: 32 * MiB, all })).toBe(false);
});
