import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { managementApi } from '../resources/management-api.ts';
import * as inertFields from './inert-fields.ts';
import { routes } from './routes.ts';

const reference = new URL('../../../../docs/reference/management-api.md', import.meta.url);

test('the reference names the supported query parameters and scopes of each operation', async () => {
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

test('each scope that opens an operation can be granted', () => {
  const granted = managementApi('http://localhost/').scopes.map(({ value }) => value);
  expect(granted).toEqual(expect.arrayContaining(routes.flatMap(({ scopes }) => scopes)));
});

test.each(Object.entries(inertFields))(
  'the reference lists the fields that are stored without effect: %s',
  async (_, fields) => {
    const text = await readFile(reference, 'utf8');
    const section = text.slice(text.indexOf('## Kept and without effect'), text.indexOf('## What Auth0 has'));
    expect(Object.keys(fields).filter((field) => !section.includes(`\`${field}\``))).toEqual([]);
  },
);
