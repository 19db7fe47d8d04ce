import { expect, test } from '@jest/globals';
import { membersOf } from './json-members.ts';

const names = new Set(['a', 'é', '']);

/** What JSON.parse says of it. */
function expected(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not_json';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not_an_object';
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
}

function found(text: string): unknown {
  const bytes = Buffer.from(text);
  const members = membersOf(bytes, names);
  if (typeof members === 'string') return members;
  const read = ({ start, end }: { start: number; end: number }) => JSON.parse(bytes.toString('utf8', start, end));
  return Object.fromEntries([...members].map(([name, span]) => [name, read(span)]));
}

const texts = [
  '{"a":1,"b":[true,{"a":"x"},[]],"\\u00e9":"\\"\\\\\\u12aF","a":{"c":[-0.5e+3,0,1E2]}}',
  ' {\t"" : null ,\r\n"a" :[ ] , "é": "ü😀" } ',
  '{"\\u0061":{},"b":{"a":[[[["a"]]],{}]}}',
  ...['{}', '[]', '[{"a":1}]', '"a"', '-1.5', 'null', '', ' ', '{"a":01}', '{"a":1}}', '\ufeff{}', '{"a":"\t"}'],
];

test('the JSON scanner accepts what JSON.parse accepts, and reads the same', () => {
  for (const text of texts) expect([text, found(text)]).toEqual([text, expected(text)]);
});

test('the JSON scanner agrees with JSON.parse even if a character is missing, changed or doubled', () => {
  const others = [...'{}[]",:\\ 0-.eu\t', 'tru', 'é'];
  for (const text of texts)
    for (let at = 0; at < text.length; at += 1) {
      const [before, after] = [text.slice(0, at), text.slice(at + 1)];
      for (const put of ['', text[at]!.repeat(2), ...others]) {
        const changed = (before + put + after).toWellFormed();
        expect([changed, found(changed)]).toEqual([changed, expected(changed)]);
      }
    }
});

test('the JSON scanner reads nesting of any depth', () => {
  const deep = `{"b":${'['.repeat(100_000)}${']'.repeat(100_000)},"a":1}`;
  expect(found(deep)).toEqual({ a: 1 });
  expect(found(deep.replace(']]', ']}'))).toBe('not_json');
});
