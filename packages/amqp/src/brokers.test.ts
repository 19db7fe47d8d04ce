import { expect, test } from '@jest/globals';
import { brokersOf, userOf } from './brokers.ts';

test('a stray % in a password is itself, and what is escaped is not', () => {
  const { protocol, username, password } = brokersOf('amqp://g%C3%A4te:100%@one/v');
  expect([protocol, username, password]).toEqual(['amqp', 'gäte', '100%']);
  expect(userOf('amqp://g%C3%A4te:100%@one/v')).toBe('gäte');
});

test('parameters of the connection are those of the URL, with a heartbeat of ours', () => {
  const { protocol, heartbeat, channelMax, frameMax } = brokersOf('amqp://one?channelMax=7');
  expect([protocol, heartbeat, channelMax, frameMax]).toEqual(['amqp', 10, 7, undefined]);
  const given = brokersOf('amqp://one?heartbeat=3');
  expect([given.protocol, given.heartbeat]).toEqual(['amqp', 3]);
});
