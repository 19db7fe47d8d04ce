import { expect, test } from '@jest/globals';
import { isInTheClear } from './loopback.ts';

test.each<[string, boolean]>([
  ['http://app.example/cb', true],
  ['http://127.evil.example/', true],
  ['http://localhost.evil.example/', true],
  ['http://10.0.0.1/', true],
  ['http://[::ffff:10.0.0.1]/', true],
  ['http://localhost/cb', false],
  ['http://LOCALHOST:1234/cb', false],
  ['http://127.0.0.1:1/', false],
  ['http://0x7f.1/', false],
  ['http://[::1]:1/', false],
  ['https://app.example/', false],
  ['com.example.app:/cb', false],
  ['rubbish', false],
])('whether %s would cross a network unencrypted: %s', (uri, clear) => {
  expect(isInTheClear(uri)).toBe(clear);
});
