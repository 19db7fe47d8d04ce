import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { makeFileLookup } from './file.ts';

const folder = mkdtempSync(join(tmpdir(), 'breached-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
function write(content: string): string {
  files += 1;
  const path = join(folder, `list-${files}`);
  writeFileSync(path, content);
  return path;
}
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase();
const hashes = Array.from({ length: 3_000 }, (_, index) => sha1(`known ${index}`)).sort();

describe.each([
  ['LF, with counts', (lines: string[]) => `${lines.map((line, index) => `${line}:${index + 1}`).join('\n')}\n`],
  ['CRLF, with counts', (lines: string[]) => `${lines.map((line) => `${line}:9999999`).join('\r\n')}\r\n`],
  ['no end of the last line', (lines: string[]) => lines.map((line) => `${line}:1`).join('\r\n')],
  ['bare hashes in lower case', (lines: string[]) => `${lines.join('\n').toLowerCase()}\n`],
])('a list of breached passwords with %s', (_, format) => {
  test('contains each of its lines, including the first and the last, and nothing else', async () => {
    for (const count of [1, 2, 90, 3_000]) {
      const lines = hashes.slice(0, count);
      const lookup = makeFileLookup(write(format(lines)));
      const step = Math.max(1, Math.floor(count / 150));
      const some = lines.filter((_line, index) => index % step === 0 || index === count - 1);
      for (const line of some) expect([line, await lookup(line)]).toEqual([line, true]);
      for (let index = 0; index < 100; index += 1) expect(await lookup(sha1(`unknown ${index}`))).toBe(false);
      expect([await lookup('0'.repeat(40)), await lookup('F'.repeat(40))]).toEqual([false, false]);
    }
  });
});

test('can be replaced by a newer file', async () => {
  const path = write(`${sha1('a')}:1\n`);
  const lookup = makeFileLookup(path);
  expect(await lookup(sha1('b'))).toBe(false);
  writeFileSync(path, `${sha1('b')}:1\n`);
  expect(await lookup(sha1('b'))).toBe(true);
});

test('a file that is no such list is refused at the start, or where reading it fails', async () => {
  expect(() => makeFileLookup(join(folder, 'none'))).toThrow('bad environment');
  expect(() => makeFileLookup(write('password\n123456\n'))).toThrow('bad environment');
  expect(() => makeFileLookup(write(''))).toThrow('bad environment');
  const broken = makeFileLookup(write(`${hashes[0]}:1\n${'x'.repeat(20_000)}`));
  await expect(broken(sha1('a'))).rejects.toThrow('no list of SHA-1 hashes');
});
