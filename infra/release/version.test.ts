import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { rootFolder } from '../local/processes/home.ts';
import { chart, dockerfiles, manifests, versionLabel, versionOf } from './version.ts';

test('every package, every image and the chart have the version of the root', () => {
  const files = manifests(rootFolder);
  expect(files.length).toBeGreaterThan(12);
  const version = versionOf(files[0]!);
  for (const file of files) expect([file, versionOf(file)]).toEqual([file, version]);
  if (!existsSync(chart(rootFolder))) return;
  expect(dockerfiles(rootFolder).map((file) => versionLabel.exec(readFileSync(file, 'utf8'))?.[2])).toEqual(
    Array(4).fill(version),
  );
  expect(/^appVersion: "?([^"\n]*)"?$/m.exec(readFileSync(chart(rootFolder), 'utf8'))?.[1]).toBe(version);
});

test('the changelog has one section of unreleased changes, before all others', () => {
  const sections = readFileSync(path.join(rootFolder, 'CHANGELOG.md'), 'utf8').match(/^## .*$/gm) ?? [];
  expect(sections.filter((section) => section === '## Unreleased')).toHaveLength(1);
  expect(sections[0]).toBe('## Unreleased');
  for (const section of sections.slice(1)) expect(section).toMatch(/^## \d+\.\d+\.\d+/);
});
