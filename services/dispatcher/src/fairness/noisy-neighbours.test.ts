import { expect, jest, test } from '@jest/globals';
import { makeBackpressure } from './backpressure.ts';
import { accountOf, isAccountUnknown, makeNoisyNeighbours } from './noisy-neighbours.ts';

function open() {
  let nowMs = 0;
  const noisyNeighbours = makeNoisyNeighbours(() => nowMs);
  const flooding = (account: string, count: number) =>
    Array.from({ length: count }, () => noisyNeighbours.count(account)).filter(Boolean).length;
  return { noisyNeighbours, flooding, passMs: (ms: number) => (nowMs += ms) };
}

test('an account floods when it sends more than its share within a second, whatever others do', () => {
  const { flooding } = open();
  expect(flooding('calm', 5)).toBe(0);
  expect(flooding('flood', 300)).toBe(100);
  expect(flooding('calm', 100)).toBe(0);
});

test('an account stops flooding once a calm second has passed', () => {
  const { flooding, passMs } = open();
  flooding('flood', 300);
  passMs(1_000);
  expect(flooding('flood', 50)).toBe(50);
  passMs(1_000);
  expect(flooding('flood', 50)).toBe(0);
});

test('setting the clock back makes nobody a noisy neighbour', () => {
  const [clock, passed] = [Date.now(), performance.now()];
  let [offMs, passedMs] = [0, 0];
  jest.spyOn(Date, 'now').mockImplementation(() => clock + offMs);
  jest.spyOn(performance, 'now').mockImplementation(() => passed + passedMs);
  const noisyNeighbours = makeNoisyNeighbours();
  const backpressure = makeBackpressure();
  const isNoisy = () => Array.from({ length: 150 }, () => noisyNeighbours.count('calm')).includes(true);
  for (let event = 0; event < 150; event += 1) backpressure.flooded();
  expect(isNoisy()).toBe(false);
  offMs = -3_600_000;
  passedMs = 1_100;
  expect(isNoisy()).toBe(false);
  expect(backpressure.isLifted()).toBe(true);
  jest.restoreAllMocks();
});

test('only accounts that sent something in the last minute count as others', () => {
  const { noisyNeighbours, flooding, passMs } = open();
  flooding('flood', 10);
  expect(noisyNeighbours.hasOthers('flood')).toBe(false);
  flooding('calm', 1);
  expect(noisyNeighbours.hasOthers('flood')).toBe(true);
  flooding('flood', 10);
  expect([noisyNeighbours.hasOthers('flood'), noisyNeighbours.hasOthers('calm')]).toEqual([true, true]);
  passMs(60_000);
  flooding('flood', 1);
  expect(noisyNeighbours.hasOthers('flood')).toBe(false);
});

test('the account of a message is read from its subject header, with any prefix and in any letter case', () => {
  const ofHeaders = (headers: Record<string, unknown>, contentType = 'application/json') =>
    accountOf({ contentType, headers, body: Buffer.from('{"subject":"payload"}') });
  expect(ofHeaders({ 'cloudEvents:subject': 'Acme/widgets' })).toBe('acme');
  for (const name of ['cloudEvents_subject', 'CLOUDEVENTS:SUBJECT', 'ce-subject', 'ce_subject', 'CE-Subject'])
    expect(ofHeaders({ [name]: 'acme' })).toBe('acme');
  // As the parser has it: the first prefix wins.
  expect(ofHeaders({ 'ce-subject': 'other', 'cloudEvents:subject': 'acme' })).toBe('acme');
  expect(ofHeaders({})).toBeUndefined();
  expect(ofHeaders({ 'cloudEvents:subject': 7 })).toBeUndefined();
});

test('the account of a structured event is read from its body, as the parser would have it', () => {
  const ofBody = (text: string) =>
    accountOf({
      contentType: 'Application/CloudEvents+JSON; charset=utf-8',
      headers: { 'cloudEvents:subject': 'other' },
      body: Buffer.from(text),
    });
  expect(ofBody('{"id":"1","subject":"Acme/widgets","data":{}}')).toBe('acme');
  expect(ofBody('{"data":{"subject":"other","a":["{",{"b":"\\"}"}]}, "x": "subject", "subject" : "acme"}')).toBe(
    'acme',
  );
  expect(ofBody(`{"subject":"acme","data":"${'x'.repeat(100_000)}`)).toBe('acme');
  expect(ofBody(`{"data":"${'x'.repeat(100_000)}","subject":"acme"}`)).toBe('acme');
  // Cut off by the end of what is searched.
  expect(ofBody(`{"data":"${'x'.repeat(65_505)}","subject":"acme-and-more/r"}`)).toBe('acme-and-more');
  // As PHP writes it, and with names twice.
  expect(ofBody('{"subject":"acme\\/r","data":{}}')).toBe('acme');
  expect(ofBody('{"sub\\u006aect":"acm\\u0065/r"}')).toBe('acme');
  expect(ofBody('{"subject":"other/r","subject":"acme/r"}')).toBe('acme');
  expect(ofBody(`{"subject":"other","data":"${'x'.repeat(100_000)}","subject":"acme"}`)).toBe('acme');
  expect(ofBody('{"subject":"acme","data":{"subject":"other"}}')).toBe('acme');
  for (const text of [
    '{"subject":7,"id":"acme"}',
    '{"subject":["acme"],"id":"x"}',
    '{"data":{"subject":"acme"}}',
    '["subject","acme"]',
    '{"id":"\\"subject\\":\\"acme\\"',
    `{"data":"${'x'.repeat(2_000_000)}","subject":"acme"}`,
    '{"subject":"ac\\x"}',
    '',
  ])
    expect(ofBody(text)).toBeUndefined();
});

test('the account of a large structured event is unknown unless its subject comes soon; that of any other event never is', () => {
  const isUnknown = (body: string, contentType = 'application/cloudevents+json') =>
    isAccountUnknown({ contentType, headers: {}, body: Buffer.from(body) });
  const large = 'x'.repeat(2_000_000);
  expect(isUnknown(`{"data":"${large}","subject":"acme"}`)).toBe(true);
  expect(isUnknown(`{"subject":"acme","data":"${large}","subject":"other"}`)).toBe(true);
  expect(isUnknown(`{"subject":"acme","data":"${large}"}`)).toBe(false);
  expect(isUnknown('{"data":{}}')).toBe(false);
  expect(isUnknown(`{"data":"${large}"}`, 'application/json')).toBe(false);
});
