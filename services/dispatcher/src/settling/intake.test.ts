import { EventEmitter, once } from 'node:events';
import type { Incoming } from '@gatepost/amqp/consumer';
import { NotPublished } from '@gatepost/amqp/publisher';
import { openLog } from '@gatepost/runtime/log';
import { troubleOf } from '@gatepost/runtime/store-errors';
import { expect, test } from '@jest/globals';
import { makeIntake } from './intake.ts';
import { GivenUp, makePersist } from './persist.ts';
import { ack, deadLetter, makeSettle, type Verdict } from './settle.ts';

/** What becomes of a message of which `decide` says so, with a broker that takes dead letters, or does not. */
async function settled(
  decide: () => Promise<Verdict>,
  more: { broker?: () => Promise<void> } = {},
): Promise<unknown[]> {
  const log = openLog('test', 'silent');
  const said: unknown[] = [];
  const done = new EventEmitter();
  const giveUp = new AbortController();
  const publish = async ({ headers }: { headers?: Record<string, unknown> }) => {
    await more.broker?.();
    said.push(`dead letter: ${headers?.['x-reason']}, ${headers?.['x-detail']}`);
  };
  const settle = makeSettle({
    publisher: { publish } as never,
    persist: makePersist({ log, giveUp: giveUp.signal, troubleOf, pause: (async () => {}) as never }),
    metrics: { settled: (how: string, why: string) => said.push(`${how}: ${why}`), eventDead: () => {} } as never,
    log,
    giveUp: giveUp.signal,
    pause: (async () => said.push('a pause')) as never,
  });
  const intake = makeIntake({ name: 'a test', settle, log, decide, onSettled: () => done.emit('settled') });
  const message = { body: Buffer.from('{}'), headers: {}, messageId: 'm' } as Incoming;
  const isSettled = once(done, 'settled');
  intake.receive({ ...message, ack: () => said.push('ack'), giveBack: () => said.push('give back') });
  await isSettled;
  await intake.idle();
  return said;
}

test('a message is acknowledged or dead-lettered as decided', async () => {
  expect(await settled(async () => ack('routed'))).toEqual(['ack', 'ack: routed']);
  expect(await settled(async () => deadLetter('not_json', 'no JSON'))).toEqual([
    'dead letter: not_json, no JSON',
    'ack',
    'dead_letter: not_json',
  ]);
});

test('a message that fails by a mistake of our own is dead-lettered: it holds up nothing and does not come again', async () => {
  const said = await settled(async () => {
    throw new TypeError('undefined is not a function');
  });
  expect(said).toEqual(['dead letter: not_handled, undefined is not a function', 'ack', 'dead_letter: not_handled']);
});

test('a message that is left to other dispatchers is given back', async () => {
  const leave = (why: GivenUp['why']) => async () => {
    throw new GivenUp('left', why);
  };
  expect(await settled(leave('stopping'))).toEqual(['give back', 'give_back: stopping']);
  expect(await settled(leave('connection_lost'))).toEqual(['give back', 'give_back: connection_lost']);
});

test('a message that cannot even be dead-lettered is given back after a pause, so that it does not come round and round', async () => {
  const broker = async () => {
    throw new NotPublished('refused', 'it cannot be written', { forItself: true });
  };
  expect(await settled(async () => deadLetter('not_json', 'no JSON'), { broker })).toEqual([
    'a pause',
    'give back',
    'give_back: not_buried',
  ]);
});
