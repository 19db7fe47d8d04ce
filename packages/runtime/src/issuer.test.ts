import { expect, test } from '@jest/globals';
import { baseUrlOf } from './issuer.ts';

test.each([
  ['https://gate.example/', 'https://gate.example/'],
  ['https://gate.example', 'https://gate.example/'],
  ['https://gate.example/tenant', 'https://gate.example/tenant/'],
])('URLs below the issuer %s begin with %s', (issuer, base) => {
  expect(baseUrlOf(issuer)).toBe(base);
});
