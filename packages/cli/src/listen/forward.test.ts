import { expect, test } from '@jest/globals';
import { forward } from './forward.ts';

test.each([
  ['a line break in a value', { 'X-Odd': ['a\r\nX-Forged: b'] }],
  ['a name that is none', { 'X Odd': ['a'] }],
])('a delivery with %s fails at the receiver, and listening goes on', async (_, headers) => {
  const outcome = await forward(new URL('http://127.0.0.1:9/'), { id: '1', headers, body: Buffer.from('{}') });
  expect(outcome).toMatchObject({ error: expect.stringMatching(/invalid|must be/i) });
});
