import { expect, test } from '@jest/globals';
import { idOf, presentWhole } from './letter.ts';

const seen = (headers: object) => ({
  body: Buffer.from('{}'),
  contentType: 'application/json',
  messageId: 'a',
  headers: { 'x-reason': 'not_json', ...headers },
});

// RabbitMQ 4.3 counts in a header of its own: each look gave all letters other ids, and none could be shown, dropped or published.
test.each([{ 'x-delivery-count': 2 }, { 'x-acquired-count': 1 }, { 'x-delivery-count': 3, 'x-acquired-count': 4 }])(
  'a dead letter keeps its id however often it is looked at: %j',
  (counts) => {
    expect(idOf(seen(counts))).toBe(idOf(seen({})));
    expect(presentWhole(seen(counts))).toEqual(presentWhole(seen({})));
    expect(idOf(seen({ ...counts, 'x-reason': 'not_utf8' }))).not.toBe(idOf(seen({})));
  },
);
