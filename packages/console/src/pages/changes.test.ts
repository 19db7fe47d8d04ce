import { expect, test } from '@jest/globals';
import { changesOf, withLater } from './changes.ts';

test('only what was changed in a form is sent, also of a part of it; a list is sent whole', () => {
  const before = {
    name: 'a',
    enabled: true,
    shields: ['block'],
    stage: { login: { max: 1, rate: 2 }, signup: { max: 3 } },
  };
  const now = { ...before, shields: ['block', 'mail'], stage: { ...before.stage, login: { max: 5, rate: 2 } } };
  expect(changesOf(before, now)).toEqual({ shields: ['block', 'mail'], stage: { login: { max: 5 } } });
  expect(changesOf(before, structuredClone(before))).toEqual({});
});

test('what is typed while a form is being saved stays in it, beside what somebody else changed', () => {
  const sent = { name: 'b', url: '', stage: { login: 1, signup: 2 } };
  const now = { ...sent, url: 'typed meanwhile', stage: { login: 9, signup: 2 } };
  const saved = { name: 'B', url: '', stage: { login: 1, signup: 7 } };
  expect(withLater(saved, sent, now)).toEqual({ name: 'B', url: 'typed meanwhile', stage: { login: 9, signup: 7 } });
  expect(withLater(saved, sent, sent)).toEqual(saved);
});
