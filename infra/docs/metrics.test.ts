import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';

const root = path.resolve(import.meta.dirname, '../..');

test('docs/reference/metrics.md lists every metric of ours, and no other', () => {
  const page = readFileSync(path.join(root, 'docs/reference/metrics.md'), 'utf8');
  const named = [...page.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name!);
  const sources = globSync('{packages,services}/*/src/**/*.ts', { cwd: root }).map((file) =>
    readFileSync(path.join(root, file), 'utf8'),
  );
  const made = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/'((?:http|amqp|auth|dispatcher|webhook)_[a-z]+(?:_[a-z]+)+)'/g)].map(([, name]) => name!),
    ),
  );
  made.delete('auth_email_by_code'); // Auth0's name for a mail
  expect([...made].sort()).toEqual(named.sort());
});
