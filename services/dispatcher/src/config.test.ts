import { readEnv } from '@gatepost/runtime/env';
import { expect, test } from '@jest/globals';
import { variables } from './config.ts';

const needed = {
  DATABASE_URL: 'postgresql://localhost/db',
  AMQP_URL: 'amqp://localhost',
  REDIS_URL: 'redis://localhost',
  SECRETS_KEY: Buffer.alloc(32).toString('base64'),
};
const read = (more: Record<string, string>) => readEnv(variables, { ...needed, ...more });

// Each once started a dispatcher whose deliveries failed one by one.
test('a user agent that no header can hold and a CA file without a certificate are refused at the start, both at once', () => {
  for (const userAgent of ['Hookshot\r\nX-Injected: 1', 'Hookshot™'])
    expect(() => read({ DELIVERY_USER_AGENT: userAgent, DELIVERY_CA_FILE: import.meta.filename })).toThrow(
      expect.objectContaining({
        problems: [
          'DELIVERY_CA_FILE: must be a PEM file with certificates',
          'DELIVERY_USER_AGENT: must be one line of Latin-1, as it is sent in a header',
        ],
      }),
    );
  for (const userAgent of ['GitHub-Hookshot/044aadd (ours)', 'Hóokshot'])
    expect(() => read({ DELIVERY_USER_AGENT: userAgent })).not.toThrow();
});

// A failed attempt whose next one had no date was not in the log, and its job a dead letter.
test('a wait before a retry of more than 30 days is refused', () => {
  expect(read({ RETRY_SCHEDULE_SECONDS: '5,2592000' }).RETRY_SCHEDULE_SECONDS).toEqual([5, 2_592_000]);
  expect(() => read({ RETRY_SCHEDULE_SECONDS: '5,99999999999999' })).toThrow(
    'RETRY_SCHEDULE_SECONDS: must be whole numbers of seconds up to 2592000, separated by commas; item 2 is none',
  );
});

// Beyond 24 days a timer of Node fires all the time; below the longest that an attempt may take, those in hand were made again.
test.each([
  ['more than a day', { RESCUE_AFTER_SECONDS: '86401' }, 'from 1 to 86400'],
  [
    'less than an attempt may take',
    { RESCUE_AFTER_SECONDS: '59', DELIVERY_TIMEOUT_MS: '30000' },
    'DELIVERY_TIMEOUT_MS',
  ],
])('a time after which deliveries count as lost is refused if it is %s', (_what, given, why) => {
  expect(() => read({ RESCUE_AFTER_SECONDS: '60', DELIVERY_TIMEOUT_MS: '30000' })).not.toThrow();
  expect(() => read(given)).toThrow(why);
});
