import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { openPostBox } from './post-box.ts';

test('an outbox folder keeps the last 1,000 messages, and files of others', async () => {
  const outbox = mkdtempSync(join(tmpdir(), 'outbox-'));
  const earlier = Array.from(
    { length: 1_000 },
    (_, index) => `2026-01-01T00-00-00-${String(index).padStart(3, '0')}Z-0123abcd.eml`,
  );
  for (const name of [...earlier, 'notes.txt']) writeFileSync(join(outbox, name), '');
  const box = openPostBox({ mailUrl: `${pathToFileURL(outbox).href}/`, from: 'a@example.com', outbox });
  await box.sendMail({ to: 'b@example.com', subject: 'One more', text: '' });
  await box.sendText({ to: '+15550001111', text: 'And another' });
  const names = readdirSync(outbox).sort();
  expect(names).toHaveLength(1_001);
  expect(names.filter((name) => earlier.includes(name))).toEqual(earlier.slice(2));
  expect(names.at(-1)).toBe('notes.txt');
  box.close();
  rmSync(outbox, { recursive: true });
});
