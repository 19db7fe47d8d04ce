import { expect, test } from '@jest/globals';
import { makeTurns, type TooBusy } from './turns.ts';

/** Turns whose work is done by hand, and the names of those that were served or sent away, in order. */
function open(limits: Partial<Parameters<typeof makeTurns>[0]> = {}) {
  const turns = makeTurns({ running: 1, perNetwork: 8, waiting: 16, ...limits });
  const served: string[] = [];
  const away: string[] = [];
  const endings: (() => void)[] = [];
  const ask = (network: string, account: string, name = `${network}/${account}`) =>
    turns
      .take({ network, account }, () => {
        served.push(name);
        return new Promise<void>((end) => endings.push(end));
      })
      .catch((error: TooBusy) => void away.push(`${name} ${error.excess ? 'for its own' : 'for all'}`));
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  /** Ends what runs until nobody waits. */
  const drain = async () => {
    await settle();
    for (let end = endings.shift(); end; end = endings.shift()) {
      end();
      await settle();
    }
  };
  return { served, away, ask, drain };
}
const many = (count: number) => Array.from({ length: count }, (_, index) => index);

test('passwords are hashed one at a time, in the order in which they arrive', async () => {
  const { ask, served, drain } = open();
  for (const name of ['a', 'b', 'c']) void ask('one', 'x', name);
  expect(served).toEqual(['a']);
  await drain();
  expect(served).toEqual(['a', 'b', 'c']);
});

test('networks take turns: a lone login waits for one login of a crowded network, not for all of them', async () => {
  const { ask, served, drain } = open();
  for (const index of many(6)) void ask('crowd', `login ${index}`);
  void ask('alone', 'alice');
  void ask('other', 'bob');
  await drain();
  expect(served.slice(1, 4)).toEqual(['crowd/login 1', 'alone/alice', 'other/bob']);
});

test('within a network the accounts take turns', async () => {
  const { ask, served, drain } = open();
  for (const index of many(5)) void ask('office', 'attacked', `guess ${index}`);
  void ask('office', 'carol', 'carol');
  await drain();
  expect(served).toEqual(['guess 0', 'guess 1', 'carol', 'guess 2', 'guess 3', 'guess 4']);
});

test('a network may have only so many logins waiting, and further ones are refused at once', async () => {
  const { ask, served, away, drain } = open({ perNetwork: 3 });
  for (const index of many(4)) void ask('crowd', `${index}`);
  await ask('crowd', '4');
  void ask('alone', 'alice');
  expect(away).toEqual(['crowd/4 for its own']);
  await drain();
  expect(served).toHaveLength(5);
});

test('in a full network the account with the most waiting logins gives one up for an account with fewer', async () => {
  const { ask, served, away, drain } = open({ perNetwork: 3 });
  for (const index of many(4)) void ask('office', 'attacked', `guess ${index}`);
  void ask('office', 'carol', 'carol');
  await drain();
  expect(away).toEqual(['guess 3 for its own']);
  expect(served).toContain('carol');
});

test('when everything is full, the network with the most waiting logins gives one up for a network with fewer, however many arrive', async () => {
  const { ask, served, away, drain } = open({ waiting: 8 });
  for (const index of many(9)) void ask('crowd', `${index}`);
  for (const index of many(5)) void ask(`home ${index}`, 'somebody');
  await drain();
  expect(away.every((name) => name.startsWith('crowd/'))).toBe(true);
  expect(served.filter((name) => name.startsWith('home'))).toHaveLength(5);
  // Being sent away took no turn from those who stayed.
  expect(served[1]).toMatch(/^crowd/);
});

test('when everything is full and every network has one login waiting, the newest login is refused', async () => {
  const { ask, served, away, drain } = open({ waiting: 3 });
  for (const index of many(5)) void ask(`home ${index}`, 'x');
  await drain();
  expect(away).toEqual(['home 4/x for all']);
  expect(served).toHaveLength(4);
});

test('a turn that ends in an error passes to the next login', async () => {
  const turns = makeTurns({ running: 1, perNetwork: 2, waiting: 2 });
  const asker = { network: 'n', account: 'a' };
  const first = turns.take(asker, () => Promise.reject(new Error('broken')));
  const second = turns.take(asker, async () => 'done');
  await expect(first).rejects.toThrow('broken');
  expect(await second).toBe('done');
});
