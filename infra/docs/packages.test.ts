/** Which of our packages others install: those pack completely, and no other can be published by mistake. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';

const root = path.resolve(import.meta.dirname, '../..');

test('only packages meant for others can be published, and they need no package of this workspace', () => {
  const packages = globSync('{packages,services}/*/package.json', { cwd: root }).map(
    (file) =>
      JSON.parse(readFileSync(path.join(root, file), 'utf8')) as {
        name: string;
        private?: boolean;
        dependencies?: Record<string, string>;
      },
  );
  const open = packages.filter((each) => each.private !== true);
  expect(open.map(({ name }) => name).sort()).toEqual(['@gatepost/cli', '@gatepost/producer', '@gatepost/receiver']);
  for (const { dependencies = {} } of open) expect(Object.values(dependencies).join()).not.toContain('workspace:');
});
