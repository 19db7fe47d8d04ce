import { expect, test } from '@jest/globals';
import { baseUrlOf } from './issuer.ts';

test.each([
  ['https://gate.example/', 'https://gate.example/'],
  ['https://gate.example', 'https://gate.example/'],
  ['https://gate.example/tenant', 'https://gate.example/tenant/'],
])('what is below %s begins with %s', (issuer, base) => {
  expect(baseUrlOf(issuer)).toBe(base);
});
