import { expect, test } from '@jest/globals';
import { brokersOf, userOf } from './brokers.ts';

test('a stray % in a password is kept, and escaped characters are decoded', () => {
  const { protocol, username, password } = brokersOf('amqp://g%C3%A4te:100%@one/v');
  expect([protocol, username, password]).toEqual(['amqp', 'gäte', '100%']);
  expect(userOf('amqp://g%C3%A4te:100%@one/v')).toBe('gäte');
});

test('connection parameters come from the URL, with a default heartbeat', () => {
  const { protocol, heartbeat, channelMax, frameMax } = brokersOf('amqp://one?channelMax=7');
  expect([protocol, heartbeat, channelMax, frameMax]).toEqual(['amqp', 10, 7, undefined]);
  const given = brokersOf('amqp://one?heartbeat=3');
  expect([given.protocol, given.heartbeat]).toEqual(['amqp', 3]);
});
