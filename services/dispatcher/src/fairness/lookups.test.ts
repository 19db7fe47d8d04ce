import type { LookupFunction } from 'node:net';
import { expect, test } from '@jest/globals';
import { makeLookups } from './lookups.ts';

/** Lookups that end when the test says so. */
function open(atOnce: number) {
  const running = new Map<string, () => void>();
  const answered: string[] = [];
  let nowMs = 0;
  const lookup: LookupFunction = (name, _options, callback) => {
    running.set(name, () => {
      running.delete(name);
      callback(null, [{ address: '127.0.0.2', family: 4 }]);
    });
  };
  const lookupFor = makeLookups({ lookup, atOnce, waitMaxMs: 10_000, now: () => nowMs });
  const ask = (accountId: number, ...names: string[]) => {
    for (const name of names)
      lookupFor(accountId)(name, { all: true }, (error) =>
        answered.push(`${accountId} ${name} ${error?.code ?? 'ok'}`),
      );
  };
  return {
    ask,
    running: () => [...running.keys()],
    end: (name: string) => running.get(name)!(),
    answered,
    pass: (ms: number) => (nowMs += ms),
  };
}

test('an account whose names are never resolved leaves room for those of others, as often as it asks', () => {
  const { ask, running } = open(12);
  for (let event = 0; event < 50; event += 1) ask(1, `a${event}`);
  expect(running()).toHaveLength(6);
  for (let event = 0; event < 50; event += 1) ask(2, `b${event}`);
  expect(running()).toHaveLength(9);
  ask(3, 'c');
  expect(running()).toContain('c');
});

test('deliveries to one name that begin meanwhile share its lookup, whoever asks', () => {
  const { ask, running, end, answered } = open(2);
  ask(1, 'a', 'a');
  ask(2, 'a');
  expect(running()).toEqual(['a']);
  end('a');
  expect(answered).toEqual(['1 a ok', '1 a ok', '2 a ok']);
  ask(1, 'a');
  expect(running()).toEqual(['a']);
});

test('names that wait are looked up as others end, the accounts in turn', () => {
  const { ask, running, end, answered } = open(1);
  ask(1, 'a', 'b', 'c');
  ask(2, 'd', 'e');
  const order: string[] = [];
  for (let [name] = running(); name; [name] = running()) {
    order.push(name);
    end(name);
  }
  expect(order).toEqual(['a', 'b', 'd', 'c', 'e']);
  expect(answered).toHaveLength(5);
});

test('a name is not looked up any more once its delivery has timed out', () => {
  const { ask, running, end, answered, pass } = open(1);
  ask(1, 'a', 'b', 'c');
  pass(9_000);
  ask(1, 'd');
  pass(1_000);
  end('a');
  expect(running()).toEqual(['d']);
  expect(answered).toEqual(['1 a ok', '1 b ETIMEDOUT', '1 c ETIMEDOUT']);
});
