import { expect, test } from '@jest/globals';
import { openLog } from './log.ts';
import { isRedisRefusal, makeReconnectOnError } from './redis.ts';

const reply = (message: string, more = {}) => Object.assign(new Error(message), { name: 'ReplyError', ...more });
const readOnly = "READONLY You can't write against a read only replica.";

test.each([
  [reply(readOnly), true],
  [reply(`ERR Error running script (call to f_1): @user_script:2: @user_script: 2: -${readOnly} `), true],
  [reply('LOADING Redis is loading the dataset in memory'), true],
  [reply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), true],
  [reply('CLUSTERDOWN The cluster is down'), true],
  [reply("OOM command not allowed when used memory > 'maxmemory'."), true],
  [reply('MISCONF Redis is configured to save RDB snapshots, but ...'), true],
  [reply('NOREPLICAS Not enough good replicas to write.'), true],
  [reply('EXECABORT Transaction discarded because of previous errors.', { previousErrors: [reply(readOnly)] }), true],
  [
    reply('EXECABORT Transaction discarded because of previous errors.', { previousErrors: [reply('ERR syntax')] }),
    false,
  ],
  [reply('WRONGTYPE Operation against a key holding the wrong kind of value'), false],
  [reply('BUSYGROUP Consumer Group name already exists'), false],
  [reply('ERR unknown command'), false],
  [new Error(readOnly), false],
  [undefined, false],
])('%s is a refusal that passes: %s', (error, expected) => {
  expect(isRedisRefusal(error)).toBe(expected);
});

test('a replica is left, but not again and again; other errors keep the connection', () => {
  const reconnect = makeReconnectOnError(openLog('test', 'silent'));
  expect(reconnect(reply('ERR syntax'))).toBe(false);
  expect(reconnect(reply('LOADING Redis is loading the dataset in memory'))).toBe(false);
  expect(reconnect(reply(readOnly))).toBe(true);
  expect(reconnect(reply(readOnly))).toBe(false);
});
