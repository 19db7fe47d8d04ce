import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { toCurl } from './curl.ts';

const url = 'https://ci.example/hook';
const payload = { ref: "it's & that", size: 1 };
/** The arguments as a shell reads them. */
const args = (command: string) =>
  execFileSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }; ${command}`], { encoding: 'utf8' })
    .trim()
    .split('\n');

test('a delivery copied as curl is the same request, as JSON and as a form', () => {
  const json = toCurl({ url, request: { headers: { 'Content-Type': 'application/json' }, payload } })!;
  expect(args(json)).toEqual([
    url,
    '--header',
    'Content-Type: application/json',
    '--data-raw',
    JSON.stringify(payload),
  ]);
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const body = args(toCurl({ url, request: { headers, payload } })!).at(-1)!;
  expect(body).toMatch(/^payload=%7B/);
  expect([...new URLSearchParams(body)]).toEqual([['payload', JSON.stringify(payload)]]);
});

test('no curl command is offered for a payload that is no longer kept', () => {
  expect(toCurl({ url, request: { headers: {}, payload: null } })).toBeUndefined();
});
