import { expect, test } from '@jest/globals';
import { type Brings, whatEachBrings } from './brings.ts';

const one = (more: Partial<Parameters<typeof whatEachBrings>[0][number]> = {}) => ({
  key: 'a',
  isNew: false,
  isRouted: false,
  ...more,
});
const other = one({ key: 'b', isNew: true, isRouted: true });

test.each<[what: string, batch: ReturnType<typeof one>[], mine: string[], brings: Brings[]]>([
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
])('%s', (_what, batch, mine, brings) => {
  expect(whatEachBrings(batch, new Set(mine))).toEqual(brings);
});
