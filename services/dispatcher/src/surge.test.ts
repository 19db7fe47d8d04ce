import { openLog } from '@gatepost/runtime/log';
import { Registry } from '@gatepost/runtime/metrics';
import { expect, test } from '@jest/globals';
import { makeSurge } from './surge.ts';

function open() {
  let nowMs = 0;
  const surge = makeSurge({
    publisher: {
      publish: async () => {},
      waiting: async () => 0,
      isConnected: () => true,
      [Symbol.asyncDispose]: async () => {},
    },
    persist: (_what, work) => work(),
    registry: new Registry(),
    log: openLog('test', 'silent'),
    now: () => nowMs,
  });
  const message = (subject: string | undefined) => ({
    body: Buffer.from('{}'),
    headers: subject === undefined ? {} : { 'cloudEvents:subject': subject },
    contentType: 'application/json',
    routingKey: 'push',
    messageId: 'm',
    redelivered: false,
    ack() {},
    giveBack() {},
    isSettled: () => true,
  });
  const diverted = (subject: string | undefined, count: number, backlog = 1_000) =>
    Array.from({ length: count }, () => surge.divert(message(subject), backlog)).filter(Boolean).length;
  return { diverted, passMs: (ms: number) => (nowMs += ms) };
}

test('an account that floods while others send is put aside beyond its share, and the others are not', () => {
  const { diverted } = open();
  expect(diverted('calm/r', 5)).toBe(0);
  expect(diverted('Flood/r', 300)).toBe(100);
  expect(diverted('flood/other', 10)).toBe(10);
  expect(diverted('calm/r', 100)).toBe(0);
});

test('it stays aside until a calm second has passed', () => {
  const { diverted, passMs } = open();
  diverted('calm/r', 1);
  diverted('flood/r', 300);
  passMs(1_000);
  expect(diverted('flood/r', 50)).toBe(50);
  passMs(1_000);
  diverted('calm/r', 1);
  expect(diverted('flood/r', 50)).toBe(0);
});

test('nothing is put aside when nobody else sends, when nothing waits, or when the sender cannot be told', () => {
  const { diverted } = open();
  expect(diverted('flood/r', 500)).toBe(0);
  diverted('calm/r', 1);
  expect(diverted('flood/r', 50, 99)).toBe(0);
  expect(diverted(undefined, 500)).toBe(0);
});
