import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const docs = new URL('../../docs/failures.md', import.meta.url);
const links = [...readFileSync(docs, 'utf8').matchAll(/\[([^\]]+)\]\((\S+\.test\.ts)\)/g)].map(([, title, path]) => ({
  title: title!,
  path: path!,
}));

test('docs/failures.md links to tests', () => {
  expect(links.length).toBeGreaterThan(20);
});

test.each(links)('$path has the test “$title”', ({ title, path }) => {
  const source = readFileSync(new URL(path, docs), 'utf8');
  const isNamed = ["'", '"', '`'].some((quote) => source.includes(`${quote}${title}${quote}`));
  expect(isNamed).toBe(true);
});
