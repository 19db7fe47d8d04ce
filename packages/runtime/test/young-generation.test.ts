/**
 * What our patches of pg and ioredis (patches/) are for: what belongs to a single query or command is freed with the young generation. V8
 * keeps what it takes for methods, and hidden classes, in the old one, and with them all they refer to, until the next full collection.
 */
import { runAlone } from '@gatepost/testkit/old-generation';
import { freshDatabase } from '@gatepost/testkit/stores';
import { expect, test } from '@jest/globals';

test('queries, Redis commands and scripts that have ended hold nothing in the old generation', async () => {
  await using database = await freshDatabase();
  const growth = await runAlone(new URL('./ended-calls.ts', import.meta.url), database.url);
  // Of 8 MB that each sent.
  for (const bytes of Object.values(growth as Record<string, number>)) expect(bytes).toBeLessThan(2_000_000);
  expect(Object.keys(growth as object)).toEqual(['query', 'command', 'script']);
});
