import { expect, test } from '@jest/globals';
import { openLog } from './log.ts';
import { makeReconnectOnError } from './redis.ts';

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
const readOnly = "READONLY You can't write against a read only replica.";

test('the connection to a replica is closed, but not again and again; other errors keep the connection', () => {
  const reconnect = makeReconnectOnError(openLog('test', 'silent'));
  expect(reconnect(reply('ERR syntax'))).toBe(false);
  expect(reconnect(reply('LOADING Redis is loading the dataset in memory'))).toBe(false);
  expect(reconnect(reply(readOnly))).toBe(true);
  expect(reconnect(reply(readOnly))).toBe(false);
});
