import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { routes } from './routes.ts';

const reference = new URL('../../../../docs/reference/management-api.md', import.meta.url);

test('the reference says of each operation, with its scopes, what it can be turned into', async () => {
  const documented = (await readFile(reference, 'utf8'))
    .split('\n')
    .filter((line) => /^\| `[A-Z]+ /.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, 3)
        .map((cell) => cell.replaceAll('`', '').trim())
        .join(' | '),
    );
  const operations = routes.map(
    ({ method, path, scopes }) => `${method.toUpperCase()} ${path.slice(1)} | ${scopes.join(', ')}`,
  );
  expect(documented.sort()).toEqual(operations.sort());
});
