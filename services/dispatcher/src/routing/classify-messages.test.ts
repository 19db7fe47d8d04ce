import { expect, test } from '@jest/globals';
import { classifyMessages, type MessageKind } from './classify-messages.ts';

const one = (more: Partial<Parameters<typeof classifyMessages>[0][number]> = {}) => ({
  key: 'a',
  isNew: false,
  isRouted: false,
  ...more,
});
const other = one({ key: 'b', isNew: true, isRouted: true });

test.each<[what: string, batch: ReturnType<typeof one>[], handed: string[], kinds: MessageKind[], taken?: string[]]>([
  ['a new event that we claimed is ours', [one({ isNew: true })], ['a'], ['event']],
  ['a new event without deliveries is ours', [other], [], ['event']],
  [
    'the second of two messages of a new event is a duplicate',
    [one({ isNew: true }), one()],
    ['a'],
    ['event', 'duplicate'],
  ],
  [
    'the second of two messages of an event without deliveries is a duplicate',
    [other, other],
    [],
    ['event', 'duplicate'],
  ],
  ['a message of an event that is already routed is a duplicate', [one({ isRouted: true })], [], ['duplicate']],
  ['an event that another dispatcher stored and left is ours', [one()], ['a'], ['event']],
  // Both used to be duplicates: the second message of the batch was not looked at, and the event was lost.
  [
    'of two messages of an event that another dispatcher stored and left, the first is ours',
    [one(), other, one()],
    ['a'],
    ['event', 'event', 'duplicate'],
  ],
  ['the outcome of an event that another dispatcher is routing is unknown', [one()], [], ['unknown']],
  [
    'the outcome of an event that another dispatcher is routing is unknown even if we stored it just before',
    [one({ isNew: true })],
    [],
    ['unknown'],
  ],
  [
    'the outcome is unknown for every message of an event that another dispatcher is routing',
    [one(), other, one()],
    [],
    ['unknown', 'event', 'unknown'],
  ],
  // The second used to be acked. The first had come by a connection that was lost: it was left to the second, and the event was nobody's.
  [
    'the second of two messages of an event that we deliver ourselves waits for the outcome',
    [one({ isNew: true }), one()],
    [],
    ['event', 'unknown'],
    ['a'],
  ],
])('%s', (_what, batch, handed, kinds, taken = []) => {
  expect(classifyMessages(batch, { handed: new Set(handed), taken: new Set(taken) })).toEqual(kinds);
});
