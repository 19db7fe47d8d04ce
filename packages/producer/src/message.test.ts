import { parseEvent } from '@gatepost/contracts/event';
import { describe, expect, test } from '@jest/globals';
import { prepare } from './message.ts';
import type { NewEvent } from './new-event.ts';

const good = { type: 'push', subject: 'acme/widgets', data: { ref: 'refs/heads/main' } } satisfies NewEvent;
const circle: Record<string, unknown> = {};
circle.self = circle;

describe('prepare', () => {
  test('makes a message that is parsed to the same event', () => {
    const time = new Date('2026-01-02T03:04:05.678Z');
    const prepared = prepare({ ...good, time, action: 'created', tagspushed: 2 }, 'build-7', 'urn:ci');
    if (prepared.kind !== 'message') throw new Error(prepared.detail);
    expect(parseEvent(prepared.message)).toEqual({
      kind: 'event',
      event: {
        id: 'build-7',
        source: 'urn:ci',
        type: 'push',
        account: 'acme',
        repository: 'widgets',
        time,
        action: 'created',
        tagsPushed: 2,
        payload: Buffer.from('{"ref":"refs/heads/main"}'),
      },
    });
  });

  test.each([
    ['text', '{ "a":  1.0 }', '{ "a":  1.0 }'],
    ['bytes', new TextEncoder().encode('{"ü":1}'), '{"ü":1}'],
    ['a view into a larger buffer', new TextEncoder().encode('xx{"a":1}yy').subarray(2, 9), '{"a":1}'],
  ])('leaves %s unchanged', (_what, body, expected) => {
    const prepared = prepare({ type: 'push', subject: 'acme', body }, 'a', 'urn:ci');
    expect(prepared.kind === 'message' && prepared.message.body.toString()).toBe(expected);
  });

  test.each<[what: string, event: NewEvent, id: string, source: string, reason: string, detail: RegExp]>([
    ['a type in upper case', { ...good, type: 'Push' }, 'a', 'urn:ci', 'bad_attribute', /`type`/],
    ['an empty type', { ...good, type: '' }, 'a', 'urn:ci', 'missing_attribute', /`type`/],
    ['a subject of three parts', { ...good, subject: 'a/b/c' }, 'a', 'urn:ci', 'bad_attribute', /`subject`/],
    ['an empty id', good, '', 'urn:ci', 'missing_attribute', /`id`/],
    ['an id with a line feed', good, 'a\nb', 'urn:ci', 'bad_attribute', /`id`/],
    ['a source with a space', good, 'a', 'my ci', 'bad_attribute', /`source`/],
    ['a time that is none', { ...good, time: 'yesterday' }, 'a', 'urn:ci', 'bad_attribute', /`time`/],
    ['an invalid Date', { ...good, time: new Date(Number.NaN) }, 'a', 'urn:ci', 'bad_attribute', /`time`/],
    ['a long action', { ...good, action: 'x'.repeat(65) }, 'a', 'urn:ci', 'bad_attribute', /`action`/],
    ['half a tag', { ...good, tagspushed: 0.5 }, 'a', 'urn:ci', 'bad_attribute', /`tagspushed`/],
    ['a list as payload', { type: 'push', subject: 'acme', data: [] }, 'a', 'urn:ci', 'not_an_object', /object/],
    ['a circle', { type: 'push', subject: 'acme', data: circle }, 'a', 'urn:ci', 'not_json', /JSON/],
    ['broken JSON', { type: 'push', subject: 'acme', body: '{"a":' }, 'a', 'urn:ci', 'not_json', /JSON/],
    [
      'bytes that are not UTF-8',
      { type: 'push', subject: 'acme', body: Buffer.from([0x7b, 0xff]) },
      'a',
      'urn:ci',
      'not_utf8',
      /UTF-8/,
    ],
    [
      'more than 25 MB',
      { type: 'push', subject: 'acme', body: Buffer.alloc(25 * 1024 * 1024 + 1, 0x20) },
      'a',
      'urn:ci',
      'too_large',
      /26214401 bytes/,
    ],
  ])('refuses %s before anything is sent', (_what, event, id, source, reason, detail) => {
    expect(prepare(event, id, source)).toEqual({ kind: 'invalid', reason, detail: expect.stringMatching(detail) });
  });
});
