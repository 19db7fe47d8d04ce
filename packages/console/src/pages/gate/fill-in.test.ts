import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { fillIn, placeOf } from './fill-in.ts';

const example = (file: string) => readFileSync(new URL(`../../../../../examples/${file}`, import.meta.url), 'utf8');
const start = { name: 'one', sdk: '', install: '', files: [] };
const program = { ...start, home: 'http://127.0.0.1', callback: '/callback', clientId: 'demo-native' };
const page = { ...start, home: 'http://localhost:4705', callback: '', clientId: 'example-spa' };
const filling = { issuer: 'https://id.example/', clientId: 'mine', secret: undefined, api: undefined };

test('a program on somebody’s computer comes back to the port that it opened, whichever the application names', () => {
  const origin = (callbacks: string[]) => {
    const code = fillIn(program, example('native/main.js'), { ...filling, ...placeOf(program, callbacks) });
    return /redirectUri = `(.*):\$\{server.address\(\).port\}\/callback`/.exec(code)?.[1];
  };
  expect(origin(['http://localhost:5000/callback'])).toBe('http://localhost');
  expect(origin(['http://127.0.0.1/callback'])).toBe('http://127.0.0.1');
  expect(origin(['com.example.app://done'])).toBe('http://127.0.0.1');
});

test('a callback that the code needs is named until the application has it', () => {
  const missing = (callbacks: string[]) => placeOf(program, callbacks).missing;
  expect(missing(['com.example.app://done'])).toBe('http://127.0.0.1/callback');
  expect(missing(['http://localhost:5000/done'])).toBe('http://localhost/callback');
  expect(missing(['http://localhost:5000/done', 'http://localhost:5000/callback'])).toBeUndefined();
  expect(placeOf(page, []).missing).toBe('http://localhost:4705');
  expect(placeOf(page, ['http://localhost:5173']).missing).toBeUndefined();
});

test('the token is sent to the API that it is for', () => {
  const files = ['spa/main.js', 'spa/index.html', 'react/src/App.jsx', 'vue/src/App.vue', 'nextjs/app/hooks/page.jsx'];
  const code = (identifier: string) =>
    files.map((file) =>
      fillIn(page, example(file), { ...filling, ...placeOf(page, []), api: { identifier, scopes: [] } }),
    );
  const called = (codes: string[]) => codes.flatMap((text) => /fetch\('(.*)'/.exec(text)?.[1] ?? []);
  const others = code('https://apples.example/');
  expect(called(others)).toEqual(Array(4).fill('https://apples.example/'));
  expect(others.join()).not.toContain('acme');
  expect(called(code('apples'))).toEqual(Array(4).fill('YOUR_API_URL'));
  expect(called(code('http://localhost:4500/'))).toEqual(
    Array(4).fill('http://localhost:4500/repos/acme/widgets/hooks'),
  );
});
