import { expect, test } from '@jest/globals';
import { strikeInTurn } from './faults.ts';

const rest = { random: () => 0, isOver: () => false, isWorking: async () => true, onStrike() {} };

test('stopping the faults does not wait for those that have not begun', async () => {
  const stop = new AbortController();
  const struck: string[] = [];
  const fault = (name: string) => ({
    name,
    down: { min: 0, more: 0 },
    async strike() {
      struck.push(name);
      stop.abort(new Error('stopped'));
    },
    async repair() {},
  });
  const striking = strikeInTurn([fault('one'), fault('two')], { ...rest, signal: stop.signal });
  await expect(striking).rejects.toMatchObject({ name: 'AbortError' });
  expect(struck).toHaveLength(1);
});
