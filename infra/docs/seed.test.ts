import { readFileSync } from 'node:fs';
import { parseSeed, seedSchema } from '@gatepost/contracts/seed';
import { expect, test } from '@jest/globals';
import { keysOf, type SeedKey, seedPage, seedPageFile } from './seed.ts';

const sections = Object.entries(seedSchema.shape).map(([name, field]) => [name, keysOf(field)] as const);

test('docs/seed.md describes what a seed file may hold (`npm run docs` writes it)', () => {
  expect(readFileSync(seedPageFile, 'utf8')).toBe(seedPage());
});

test.each(sections)('every key of %s has a description and a valid example', (_, keys) => {
  for (const { path, description, example, schema } of keys) {
    expect([path, description]).toEqual([path, expect.stringMatching(/.{5}/)]);
    if (example === undefined)
      expect(keys.some((inner) => /^(\[\])?\./.test(inner.path.slice(path.length)))).toBe(true);
    else expect([path, schema.safeParse(example).error?.message]).toEqual([path, undefined]);
  }
});

test('all examples together are a valid seed file', () => {
  const whole = Object.fromEntries(
    sections.map(([name, keys]) => [name, name === 'settings' ? put(keys) : [put(keys)]]),
  );
  expect(() => parseSeed(JSON.stringify(whole))).not.toThrow();
});

/** An object with every example at its path. */
function put(keys: SeedKey[]): object {
  const made: Record<string, unknown> = {};
  for (const { path, example } of keys) {
    if (example === undefined) continue;
    const parts = path.split('.');
    let at = made;
    for (const part of parts.slice(0, -1)) {
      const name = part.replace('[]', '');
      at[name] ??= part.endsWith('[]') ? [{}] : {};
      at = (Array.isArray(at[name]) ? at[name][0] : at[name]) as Record<string, unknown>;
    }
    at[parts.at(-1)!] = example;
  }
  return made;
}
