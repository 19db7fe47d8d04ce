import type { Incoming } from '@gatepost/amqp/consumer';
import type { Producers } from '@gatepost/contracts/producers';
import { expect, test } from '@jest/globals';
import { largeBytes } from './large-bytes.ts';
import { makeOrderOf, makeOrderTally, mustFollow } from './order.ts';

const producers: Producers = {
  refuse: (_user, account) =>
    account === 'foreign' ? { reason: 'producer_not_allowed', detail: 'not for this account' } : undefined,
};
const orderOf = makeOrderOf(producers);

/** A structured event of a producer; `late`: so large, and with its subject so late, that its account is unknown. */
const event = (userId: string, account: string, late?: 'late') => {
  const data = late ? { text: 'x'.repeat(largeBytes) } : {};
  const body = Buffer.from(JSON.stringify({ data, subject: `${account}/r` }));
  return { userId, contentType: 'application/cloudevents+json', headers: {}, body } as Incoming;
};

const known = event('p', 'acme');
const unknown = event('p', 'acme', 'late');
test.each([
  ['one of its account', known, event('p', 'acme'), true],
  ['one of its account by another producer', known, event('q', 'acme'), true],
  ['one of another account', known, event('p', 'other'), false],
  ['one whose account is unknown, of the same producer', known, unknown, true],
  ['one whose account is unknown, of another producer', known, event('q', 'acme', 'late'), false],
  ['any of its producer if its own account is unknown', unknown, event('p', 'other'), true],
  ['another unknown one of its producer', unknown, unknown, true],
  ['one of another producer if its own account is unknown', unknown, event('q', 'acme'), false],
  ['one that its producer may not publish', event('p', 'foreign'), event('p', 'foreign'), false],
])('an event does not overtake %s: %#', (_what, later, earlier, isSo) => {
  expect(mustFollow(orderOf(later), orderOf(earlier))).toBe(isSo);
  const tally = makeOrderTally();
  tally.add(orderOf(earlier));
  expect(tally.hasEarlier(orderOf(later))).toBe(isSo);
  tally.remove(orderOf(earlier));
  expect(tally.isEmpty()).toBe(true);
});
