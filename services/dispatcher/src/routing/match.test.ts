import type { Event } from '@gatepost/contracts/event';
import { expect, test } from '@jest/globals';
import type { Account } from '../accounts.ts';
import type { Hook } from '../hook.ts';
import { match } from './match.ts';

const hook = (id: number, repositoryId: number | null, events: string[], deliverable = true): Hook => ({
  id,
  accountId: 1,
  name: 'web',
  repositoryId,
  deliverable,
  paused: false,
  events: new Set(events),
  url: 'http://receiver.test/',
  target: new URL('http://receiver.test/'),
  authorization: null,
  contentType: 'json',
  insecureSsl: false,
  keys: null,
  previousKeys: null,
  changedAtMs: 0,
  retry: true,
  headers: {},
});
const hooks = [
  hook(1, 10, ['push']),
  hook(2, 10, ['*']),
  hook(3, 11, ['*']),
  hook(4, null, ['push', 'team']),
  hook(5, 10, ['*'], false),
];
const account: Account = {
  id: 1,
  version: 1,
  repositories: new Map([
    ['widgets', 10],
    ['gadgets', 11],
  ]),
  hooks: new Map(hooks.map((one) => [one.id, one])),
  throttle: { rate: null, burst: null },
};
const event = (type: string, repository: string | null, tagsPushed: number | null = null): Event => ({
  id: 'i',
  source: 's',
  type,
  account: 'acme',
  repository,
  time: new Date(),
  action: null,
  tagsPushed,
  payload: Buffer.from('{}'),
});

test.each<[string, Event, number[]]>([
  ['push to widgets', event('push', 'widgets'), [1, 2, 4]],
  ['issues in widgets', event('issues', 'widgets'), [2]],
  ['push to gadgets', event('push', 'gadgets'), [3, 4]],
  ['team of the organization', event('team', null), [4]],
  ['push with three tags', event('push', 'widgets', 3), [1, 2, 4]],
])('%s', (_name, given, expected) => {
  const found = match(given, account);
  expect(found.kind === 'matched' && found.hooks.map(({ id }) => id)).toEqual(expected);
});

test.each<[string, Event, string]>([
  ['issues of the organization', event('issues', null), 'unmatched'],
  ['an unknown repository', event('push', 'nothing'), 'unmatched'],
  ['a push with four tags', event('push', 'widgets', 4), 'too_many_tags'],
  ['a create with four tags', event('create', 'widgets', 4), 'too_many_tags'],
  ['a delete with four tags', event('delete', 'widgets', 4), 'too_many_tags'],
])('%s triggers nothing', (_name, given, kind) => {
  expect(match(given, account).kind).toBe(kind);
});

test('an event that matches no hook says why', () => {
  expect(match(event('push', 'nothing'), account)).toMatchObject({ reason: 'unknown_repository' });
  expect(match(event('issues', null), account)).toMatchObject({ reason: 'no_hook' });
});

test('an event of an unknown account matches no hook', () => {
  expect(match(event('push', 'widgets'), undefined)).toEqual({
    kind: 'unmatched',
    repositoryId: null,
    reason: 'unknown_account',
  });
});
