import { expect, test } from '@jest/globals';
import { shownEntries, shownMax } from './shown-entries.ts';

const entries = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ log_id: String(first - index) }));

test('the log shows new entries before older ones, each once', () => {
  expect(shownEntries(entries(5, 2), entries(4, 3))).toEqual({ isCut: false, entries: entries(5, 4) });
  const all = shownEntries(entries(shownMax + 3, shownMax), entries(3, 3));
  expect(all).toEqual({ isCut: false, entries: entries(shownMax + 3, shownMax + 3) });
});

test('older entries of the log do not follow a gap', () => {
  const { isCut, entries: shown } = shownEntries(entries(shownMax + 4, shownMax + 1), entries(3, 3));
  expect(isCut).toBe(true);
  expect(shown).toEqual(entries(shownMax + 4, shownMax));
});
