import { expect, test } from '@jest/globals';
import { clean, cleanLines, openOutput, toJson } from './terminal.ts';

test.each([
  ['an escape sequence', '\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
  ['a carriage return that would overwrite the line', 'real\rfake', 'real\\u000dfake'],
  ['a line feed that would begin another row', 'a\nb', 'a\\u000ab'],
  ['the eight-bit control sequence introducer', '\u009b31m', '\\u009b31m'],
  ['text that is turned around', 'ab\u202ecd\u2066', 'ab\\u202ecd\\u2066'],
  ['an invisible character, beyond the basic plane too', 'a\u200bb\u{e0041}', 'a\\u200bb\\udb40\\udc41'],
  ['ordinary text of any language', 'Grüße, 世界 🎉 a\\b', 'Grüße, 世界 🎉 a\\b'],
])('the terminal shows %s without obeying it', (_, text, shown) => {
  expect(clean(text)).toBe(shown);
});

test('JSON with control characters is read back unchanged, and no terminal obeys it', () => {
  const value = { a: '\u001b[31m\u009b\u202e\u007f\u2028', 'b\u0085': ['\n', '世界'] };
  for (const indent of [undefined, 2]) {
    const json = toJson(value, indent);
    expect(json).toMatch(/^[\n\x20-\x7e世界]+$/);
    expect(JSON.parse(json)).toEqual(value);
  }
});

test('line breaks and tabs are kept', () => {
  expect(cleanLines('a\tb\r\nc\u001b')).toBe('a\tb\nc\\u001b');
});

test('colours are used only in terminals that want them', () => {
  let written = '';
  const stream = (isTTY: boolean) => ({
    isTTY,
    write: (text: string | Uint8Array) => {
      written += text;
      return true;
    },
  });
  const paint = (env: Record<string, string>, isTTY: boolean) =>
    openOutput(env, stream(isTTY), stream(isTTY)).paint('red', 'x');
  expect(paint({}, true)).toBe('\u001b[31mx\u001b[0m');
  expect([paint({ NO_COLOR: '1' }, true), paint({ TERM: 'dumb' }, true), paint({}, false)]).toEqual(['x', 'x', 'x']);
  const out = openOutput({}, stream(false), stream(false));
  out.table(['ID', 'NAME'], [['1', 'a\u001bb']]);
  out.progress('going', 3).at(1);
  expect(written).toBe('ID  NAME\n1   a\\u001bb\n');
});
