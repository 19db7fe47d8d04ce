import { expect, test } from '@jest/globals';
import { type Brings, whatEachBrings } from './brings.ts';

const one = (more: Partial<Parameters<typeof whatEachBrings>[0][number]> = {}) => ({
  key: 'a',
  isNew: false,
  isRouted: false,
  ...more,
});
const other = one({ key: 'b', isNew: true, isRouted: true });

test.each<[what: string, batch: ReturnType<typeof one>[], handed: string[], brings: Brings[], taken?: string[]]>([
  ['a new event that we took on is ours', [one({ isNew: true })], ['a'], ['event']],
  ['a new event from which nothing follows too', [other], [], ['event']],
  [
    'of two messages of an event the second is a duplicate',
    [one({ isNew: true }), one()],
    ['a'],
    ['event', 'duplicate'],
  ],
  ['also when nothing follows', [other, other], [], ['event', 'duplicate']],
  ['an event that is routed is a duplicate', [one({ isRouted: true })], [], ['duplicate']],
  ['an event that another stored and left is ours', [one()], ['a'], ['event']],
  // Both used to be duplicates: the second message of the batch was not looked at, and the event was lost.
  [
    'of two messages of an event that another stored and left the first is ours',
    [one(), other, one()],
    ['a'],
    ['event', 'event', 'duplicate'],
  ],
  ['an event that another is routing is not known yet', [one()], [], ['unknown']],
  ['even if we stored it, just before', [one({ isNew: true })], [], ['unknown']],
  ['and so are all its messages', [one(), other, one()], [], ['unknown', 'event', 'unknown']],
  // The second used to be acked. The first had come by a connection that was lost: it was left to the second, and the event was nobody's.
  [
    'of two messages of an event that we deliver ourselves the second waits for the outcome',
    [one({ isNew: true }), one()],
    [],
    ['event', 'unknown'],
    ['a'],
  ],
])('%s', (_what, batch, handed, brings, taken = []) => {
  expect(whatEachBrings(batch, { handed: new Set(handed), taken: new Set(taken) })).toEqual(brings);
});
