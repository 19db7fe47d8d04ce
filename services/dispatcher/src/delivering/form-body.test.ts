import { expect, test } from '@jest/globals';
import { formBody } from './form-body.ts';

test.each([
  ['a few bytes', Buffer.from('{"text":"a b&c=d/é 💌\\n"}')],
  ['characters of one to four bytes', Buffer.from(JSON.stringify({ text: 'aé€💌'.repeat(200_000) }))],
  ['bytes that are no UTF-8', Buffer.alloc(300_000, 0x80)],
])('a form is encoded like URLSearchParams encodes it: %s', async (_name, payload) => {
  const body = await formBody(payload);
  expect(body.equals(Buffer.from(new URLSearchParams({ payload: payload.toString('utf8') }).toString()))).toBe(true);
});

test('while a large form is encoded, everything else gets its turns', async () => {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await formBody(Buffer.alloc(4_000_000, '"'));
  isDone = true;
  expect(turns).toBeGreaterThan(200);
});
