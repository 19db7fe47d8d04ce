import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { type Delivery, openRecordings, readRecorded, record } from './delivery.ts';
import { makeFilter } from './filter.ts';

const payload = { action: 'opened', number: 7, issue: { user: { login: 'bot-1' }, labels: [{ name: 'a.b' }] } };
const delivery: Delivery = {
  id: '1',
  headers: {
    'X-Github-Event': ['issues'],
    'X-Github-Delivery': ['../../etc/passwd'],
    'Content-Type': ['application/json'],
  },
  body: Buffer.from(JSON.stringify(payload)),
};

test.each<[boolean, string[]]>([
  [true, []],
  [true, ['event=issues']],
  [false, ['event=push']],
  [true, ['action=opened', 'number=7']],
  [false, ['action=opened', 'number=8']],
  [true, ['issue.user.login=bot-*']],
  [false, ['issue.user.login!=bot*']],
  [true, ['issue.labels.0.name=a.b']],
  [false, ['issue.labels.0.name=aXb']],
  [true, ['issue.title=']],
  [false, ['constructor=*x']],
])('it is %s that the filters %j match', (holds, texts) => {
  expect(makeFilter(texts)(delivery)).toBe(holds);
});

test('filters read the payload of a form, and match nothing in an invalid body', () => {
  const form = { ...delivery, headers: { 'Content-Type': ['application/x-www-form-urlencoded'] } };
  const body = Buffer.from(new URLSearchParams({ payload: JSON.stringify(payload) }).toString());
  expect(makeFilter(['action=opened'])({ ...form, body })).toBe(true);
  expect(makeFilter(['action=opened'])({ ...delivery, body: Buffer.from('{') })).toBe(false);
});

test.each([
  ['text', Buffer.from('{"a":"Grüße"}')],
  ['bytes that are no text', Buffer.from([0xff, 0, 0xfe])],
])('a recorded delivery with %s is read back unchanged, from a file with a safe name', async (_, body) => {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'cli-')), 'kept');
  openRecordings(folder);
  const file = record(folder, { ...delivery, body }, new Date('2026-11-22T10:30:00.123Z'));
  expect(file).toBe(path.join(folder, '20261122T103000123Z-issues-______etc_passwd.json'));
  expect([statSync(folder).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(await readRecorded(file)).toEqual({ ...delivery, id: '', body });
});
