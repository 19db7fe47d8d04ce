import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { postgresPrograms } from '../stores/postgres.ts';
import { findProgram } from './child.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatepost-programs-'));

afterAll(() => rmSync(folder, { recursive: true }));

function program(path: string, mode = 0o755): string {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), '#!/bin/sh\n');
  chmodSync(join(folder, path), mode);
  return join(folder, path);
}

test('finds a program in PATH, and no folder or plain file of that name', () => {
  const found = program('one/gatepost-program');
  program('two/gatepost-text', 0o644);
  mkdirSync(join(folder, 'two/gatepost-folder'));
  const path = `${join(folder, 'two')}:${join(folder, 'one')}`;
  expect(findProgram(['gatepost-program'], path)).toBe(found);
  expect(findProgram(['gatepost-text'], path)).toBeUndefined();
  expect(findProgram(['gatepost-folder'], path)).toBeUndefined();
  expect(findProgram(['gatepost-absent', 'gatepost-program'], path)).toBe(found);
});

test('finds nothing on a PATH without it', () => {
  expect(findProgram(['gatepost-program'], '/nonexistent')).toBeUndefined();
  expect(findProgram(['gatepost-program'], '')).toBeUndefined();
});

test('takes the newest of several installed versions of PostgreSQL, before what is in PATH', () => {
  for (const version of ['9.6', '15', '14']) program(`postgresql/${version}/bin/postgres`);
  program('bin/postgres');
  const find = (debian: string) => findProgram(postgresPrograms(join(folder, debian)), join(folder, 'bin'));
  expect(find('postgresql')).toBe(join(folder, 'postgresql/15/bin/postgres'));
  expect(find('none')).toBe(join(folder, 'bin/postgres'));
});
