import { createContext, runInContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { formOf, repeatedName } from './json-body.ts';

test.each<[string, string | undefined]>([
  ['{"a":"x","b":"x"}', undefined],
  ['{"a":"x", "a" : "y"}', 'a'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['{"a":"\\"a\\":","b":"a"}', undefined],
  ['{"a":{"b":1},"b":["b",{"a":1}]}', undefined],
  ['[{"a":1},{"a":2}]', undefined],
  ['{"a":"\\\\","a":""}', 'a'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"a":"', undefined],
  ['{"a":1,"a\\', undefined],
])('whether the JSON %s has a duplicate name: %s', (json, name) => {
  expect(repeatedName(json)).toBe(name);
});

// Each quote was looked at anew up to the end: half a megabyte took minutes, and what a request may have took seconds.
test('an unterminated string is read only once', () => {
  const look = createContext({ repeatedName, json: `{"a":"${'\\"'.repeat(250_000)}` });
  expect(runInContext('repeatedName(json)', look, { timeout: 20_000 })).toBeUndefined();
});

test.each<[unknown, object | string]>([
  [
    { grant_type: 'a', resource: ['urn:a', 'urn:b'], skip: null, count: 1 },
    { grant_type: 'a', resource: ['urn:a', 'urn:b'], count: '1' },
  ],
  [{ grant_type: ['a', 'b'] }, "'grant_type' parameter must not be provided twice"],
  [{ scope: ['a'] }, "'scope' parameter must not be provided twice"],
  [{ resource: [{}] }, "'resource' must hold plain values"],
  [{ scope: {} }, "'scope' must be a plain value"],
  [{ audience: '\ud800' }, 'the body is malformed'],
  [[], 'the body must be a JSON object'],
])('the JSON body %j becomes the form %j', (body, form) => {
  expect(formOf(body)).toEqual(form);
});
