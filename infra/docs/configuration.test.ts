import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { configurationPage, pageFile } from './configuration.ts';

test('docs/configuration.md lists the variables that the services read (`npm run docs` writes it)', async () => {
  expect(readFileSync(pageFile, 'utf8')).toBe(await configurationPage());
});
