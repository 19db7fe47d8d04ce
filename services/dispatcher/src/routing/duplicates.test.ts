import { describe, expect, test } from '@jest/globals';
import { type Candidate, findDuplicates } from './duplicates.ts';

const one = (more: Partial<Candidate> = {}): Candidate => ({
  key: 'a',
  isNew: false,
  isRouted: false,
  redelivered: false,
  ...more,
});
const other = one({ key: 'b', isNew: true });

describe('findDuplicates', () => {
  test.each<[what: string, batch: Candidate[], mayBeHalfDone: boolean, duplicates: boolean[]]>([
    ['a new event is none', [one({ isNew: true })], false, [false]],
    [
      'of two messages of a new event the second is',
      [one({ isNew: true }), one({ isNew: true })],
      false,
      [false, true],
    ],
    ['an event that is routed is', [one({ isRouted: true })], false, [true]],
    ['also when its message comes again', [one({ isRouted: true, redelivered: true })], false, [true]],
    ['an event that somebody works on is', [one()], false, [true]],
    ['one that they may have died over is not', [one({ redelivered: true })], false, [false]],
    ['nor one that we may have stored ourselves', [one()], true, [false]],
    // Both used to be duplicates: the second message of the batch was not looked at, and the event was lost.
    [
      'a duplicate before the abandoned message stands in for it',
      [one(), one({ redelivered: true })],
      false,
      [false, true],
    ],
    ['whatever is between them', [one(), other, one({ redelivered: true })], false, [false, false, true]],
    ['another event’s mark does not count', [one(), one({ key: 'b', redelivered: true })], false, [true, false]],
  ])('%s', (_what, batch, mayBeHalfDone, duplicates) => {
    expect(findDuplicates(batch, mayBeHalfDone)).toEqual(duplicates);
  });
});
