import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEnv } from '@gatepost/runtime/env';
import { expect, test } from '@jest/globals';
import { variables } from './config.ts';

test.each([
  ['neither YAML nor JSON', '{"invoice_paid": ', /^EVENT_CATALOG_FILE: /],
  ['no list', '7', /^EVENT_CATALOG_FILE: does not hold a list of event types$/],
  ['names that no event has', '[Invoice Paid]', /^EVENT_CATALOG_FILE: not an event type: Invoice Paid$/],
])('a catalogue of %s is refused at the start, together with a missing database and a bad host', (_what, text, why) => {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-'));
  const file = join(folder, 'events.json');
  writeFileSync(file, text);
  const needed = {
    AMQP_URL: 'amqp://localhost',
    REDIS_URL: 'redis://localhost',
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  };
  expect(() => readEnv(variables, { ...needed, HOST: 'a b', EVENT_CATALOG_FILE: file })).toThrow(
    expect.objectContaining({
      problems: [
        'HOST: must be an IP address or the name of a host',
        expect.stringMatching(why),
        expect.stringMatching(/^DATABASE_URL is not set; .*WEBHOOK_DATABASE_URL/),
      ],
    }),
  );
  rmSync(folder, { recursive: true });
});
