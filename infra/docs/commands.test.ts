import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { quickStarts } from '../examples/quick-starts.ts';
import { rootFolder } from '../local/processes/home.ts';
import { parseBlocks, readBlocks } from './blocks.ts';
import { documents } from './commands.ts';

const guides = quickStarts.map(({ name }) => `examples/${name}/README.md`);

test('every block of commands in a document is run by `npm run docs:commands` or `npm run examples`, or says why not', () => {
  for (const file of [...documents(), ...guides]) {
    const text = readFileSync(path.join(rootFolder, file), 'utf8');
    const fences = text.match(/^ *```(sh|bash|shell|console|zsh)\b.*$/gm) ?? [];
    expect({ file, blocks: readBlocks(file).length }).toEqual({ file, blocks: fences.length });
    expect({ file, marks: text.match(/<!-- not run/g)?.length ?? 0 }).toEqual({
      file,
      marks: readBlocks(file).filter(({ notRun }) => notRun).length,
    });
  }
});

test('every quick start of `examples/` begins with the commands that start it', () => {
  for (const file of guides) expect(readBlocks(file)[0]?.notRun).toBeUndefined();
  expect(guides.every((file) => readBlocks(file).length > 0)).toBe(true);
});

test('a block of commands knows its line and why it is not run', () => {
  const blocks = parseBlocks('a.md', 'one\n\n```sh\nls\n```\n\n<!-- not run: it never ends -->\n```sh\nyes\n```\n');
  expect(blocks).toEqual([
    { file: 'a.md', line: 4, text: 'ls\n', notRun: undefined },
    { file: 'a.md', line: 9, text: 'yes\n', notRun: 'it never ends' },
  ]);
});
