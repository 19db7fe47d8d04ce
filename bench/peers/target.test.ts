import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { fill, readTarget, render } from './target.ts';

const folder = fileURLToPath(new URL('./targets/', import.meta.url));

describe('a target of bench peers', () => {
  test.each(readdirSync(folder))('%s documents its set-up and what is counted', (file) => {
    const target = readTarget(folder + file);
    expect(target.about).toMatch(/_PID/);
    expect(Object.keys({ ...target.post?.parts, ...target.gate?.parts })).not.toEqual([]);
  });

  test('gets its values wherever they are used, and the message as JSON', () => {
    const ask = { url: 'http://{{host}}/{{id}}', json: { id: '{{id}}', data: '{{payload}}', text: 'a {{payload}}' } };
    const filled = fill(ask, { host: 'h', id: 'x"y', payload: '{"bench":"1"}' });
    expect(filled).toEqual({
      url: 'http://h/x"y',
      json: { id: 'x"y', data: { bench: '1' }, text: 'a {"bench":"1"}' },
    });
  });

  test('is asked by POST with a body, else by GET', () => {
    const form = render({ url: 'http://h/', form: { a: 'b c' } });
    expect(form).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'a=b+c',
    });
    expect(render({ url: 'http://h/' })).toMatchObject({ method: 'GET' });
  });

  test('with an unset value is refused by the name of the value', () => {
    expect(() => render({ url: 'http://h/{{endpoint}}' })).toThrow('{{endpoint}}');
  });
});
