import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Channel } from 'amqplib';
import { makeAcks } from './acks.ts';

function open() {
  const frames: string[] = [];
  const channel = {
    ack: ({ fields }, isMultiple) => void frames.push(`ack ${isMultiple ? '≤ ' : ''}${fields.deliveryTag}`),
    nack: ({ fields }) => void frames.push(`nack ${fields.deliveryTag}`),
  } as Pick<Channel, 'ack' | 'nack'>;
  const acks = makeAcks(channel);
  for (let tag = 1; tag <= 9; tag += 1) acks.took(tag);
  return { frames, acks };
}

test('acks of one turn go in one frame, up to the first message that is still in hand', async () => {
  const { frames, acks } = open();
  for (const tag of [3, 1, 2, 5, 6]) acks.ack(tag);
  expect(frames).toEqual([]);
  await nextTurn();
  expect(frames).toEqual(['ack ≤ 3', 'ack 5', 'ack 6']);
  acks.ack(4);
  await nextTurn();
  expect(frames.slice(3)).toEqual(['ack ≤ 4']);
  acks.ack(7);
  await nextTurn();
  expect(frames.slice(4)).toEqual(['ack ≤ 7']);
});

test('a message is given back before a later ack covers its tag', async () => {
  const { frames, acks } = open();
  acks.ack(2);
  acks.giveBack(1);
  acks.flush();
  expect(frames).toEqual(['nack 1', 'ack ≤ 2']);
});

test('a message in hand is never acked together with others, however many come and go', async () => {
  const { frames, acks } = open();
  for (let tag = 10; tag <= 1_000; tag += 1) acks.took(tag);
  for (let tag = 2; tag <= 1_000; tag += 1) acks.ack(tag);
  acks.flush();
  expect(frames.filter((frame) => frame.includes('≤'))).toEqual([]);
  expect(frames).toHaveLength(999);
});
