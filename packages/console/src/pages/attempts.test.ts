import { expect, test } from '@jest/globals';
import type { Step } from '../api/types.ts';
import { attemptsOf } from './attempts.ts';

const step = (name: string, id: number | null, sentence: string, redelivery: boolean | null = null): Step => ({
  step: name,
  at: '2026-11-22T10:30:00.000Z',
  exact: true,
  delivery_id: id,
  attempt: id === null || name === 'handed_over' ? null : 1,
  redelivery,
  sentence,
});

// Two redeliveries had one name, and one that waited was taken for a redelivery by its number.
test('each attempt has a name of its own, and what is known of it last', () => {
  const steps = [
    step('occurred', null, 'The event occurred.'),
    step('handed_over', 1, 'It was handed over to be delivered.', false),
    step('attempt', 1, 'Attempt 1 began.', false),
    step('recorded', 1, 'Timed out.', false),
    step('attempt', 2, 'Redelivery, attempt 1 began.', true),
    step('recorded', 2, 'Timed out.', true),
    step('waits', 3, 'It waits for its turn.', true),
  ];
  expect(attemptsOf(steps)).toEqual([
    { id: 1, name: 'Attempt 1', text: 'Timed out.' },
    { id: 2, name: 'Redelivery, attempt 1', text: 'Timed out.' },
    { id: 3, name: 'Redelivery, attempt 1, no. 2', text: 'It waits for its turn.' },
  ]);
  expect(attemptsOf([{ ...step('waits', 7, 'It waits.', false), attempt: null }])).toMatchObject([
    { name: 'Delivery 7' },
  ]);
});
