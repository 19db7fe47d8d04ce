import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { type Asked, gatepost, newFolder, openGate, Reply } from './gate.ts';

/** A file of people, and what a gate answers about the imports that it has begun: the first ends as `first` says. */
function begin(first: () => unknown) {
  let jobs = 0;
  const sent: string[] = [];
  const file = path.join(newFolder(), 'people.jsonl');
  writeFileSync(file, '{"email":"a@b.example"}\n{"email":"c@b.example"}\n');
  const done = () => ({ status: 'completed', summary: { inserted: 2, updated: 0, failed: 0 } });
  const answers = {
    '/api/v2/connections': () => [
      { id: 'con_1', name: 'people' },
      { id: 'con_2', name: 'others' },
    ],
    '/api/v2/jobs/users-imports': ({ body }: Asked) => {
      sent.push(/^\[[^\r]*\]\r$/m.exec(body)![0]);
      jobs += 1;
      return { id: `job_${jobs}`, status: 'pending' };
    },
    '/api/v2/jobs/job_1': first,
    '/api/v2/jobs/job_2': done,
  };
  return { file, answers, sent, jobs: () => jobs };
}

test.each([
  ['failed', { id: 'job_1', status: 'failed' }, 'gatepost: the gate could not import the lines up to 2\n'],
  ['is gone', undefined, 'gatepost: the gate no longer knows its import of the lines up to 2\n'],
])('`users import` sends a part again whose job %s', async (_, answer, message) => {
  const { file, answers, jobs } = begin(() => answer);
  await using gate = await openGate(answers);
  expect(await gatepost(['users', 'import', file], gate.machine)).toMatchObject({
    code: 1,
    err: expect.stringContaining(message),
  });
  const again = await gatepost(['users', 'import', file], gate.machine);
  expect(again).toMatchObject({ code: 0, out: expect.stringMatching(/^2 imported, 0 updated, 0 refused/) });
  expect(jobs()).toBe(2);
  expect(existsSync(`${file}.imported`)).toBe(false);
});

test('an interrupted `users import` goes on only at its own gate, into its own connection, with the same file and --upsert', async () => {
  const { file, answers, jobs } = begin(() => new Reply(503));
  const [first, second] = [await openGate(answers), await openGate(answers)];
  await using _first = first;
  await using _second = second;
  const run = (env: Record<string, string>, ...more: string[]) => gatepost(['users', 'import', file, ...more], env);
  expect(await run(first.machine)).toMatchObject({ code: 6 });
  expect(jobs()).toBe(1);
  const refused = (what: string) => ({
    code: 2,
    err: `gatepost: ${what} is another one than when the import of this file began\n  To begin anew: rm ${file}.imported\n`,
  });
  expect(await run(second.machine)).toMatchObject(refused('the gate'));
  expect(await run(first.machine, '--connection', 'others')).toMatchObject(refused('the connection'));
  expect(await run(first.machine, '--upsert')).toMatchObject(refused('the choice of --upsert'));
  writeFileSync(file, '{"email":"x@b.example"}\n{"email":"y@b.example"}\n'); // as long as before
  expect(await run(first.machine)).toMatchObject(refused('the file'));
  expect(jobs()).toBe(1);
});

const people = [{ email: 'grüße@b.example' }, { email: 'c@b.example', name: '\u2028' }];
const lines = people.map((one) => JSON.stringify(one)).join('\r\n');

test.each([
  ['with a byte order mark', `\ufeff${lines}\r\n`],
  ['that is gzipped', gzipSync(`${lines}\n\n`)],
  [
    'that is gzipped, in two parts and with a byte order mark',
    Buffer.concat(['\ufeff', lines].map((part) => gzipSync(part))),
  ],
])('`users import` takes everybody from a file %s', async (_, content) => {
  const { file, answers, sent } = begin(() => ({
    status: 'completed',
    summary: { inserted: 2, updated: 0, failed: 0 },
  }));
  writeFileSync(file, content);
  await using gate = await openGate(answers);
  expect(await gatepost(['users', 'import', file], gate.machine)).toMatchObject({ code: 0, err: '' });
  expect(sent.map((part) => JSON.parse(part))).toEqual([people]);
});

test.each([
  ['[', (file: string) => `is a JSON array, not a person on each line\n  jq --compact-output '.[]' '${file}' makes`, 2],
  [`  ${JSON.stringify(people)}`, () => 'is a JSON array, not a person on each line', 2],
  [gzipSync(lines).subarray(0, -9), () => 'cannot be read to its end: unexpected end of file', 1],
])('`users import` refuses a file with the reason, and imports nobody: %#', async (content, reason, code) => {
  const { file, answers, sent } = begin(() => undefined);
  writeFileSync(file, content);
  await using gate = await openGate(answers);
  expect(await gatepost(['users', 'import', file], gate.machine)).toMatchObject({
    code,
    err: expect.stringContaining(`gatepost: ${file} ${reason(file)}`),
  });
  expect(sent).toEqual([]);
});

// The first part was imported, and nothing remembered that.
test('`users import` imports nobody where it cannot record how far it is', async () => {
  const { file, answers, sent } = begin(() => undefined);
  mkdirSync(`${file}.imported.new`); // a read-only folder fails in the same way, but not for root
  await using gate = await openGate(answers);
  expect(await gatepost(['users', 'import', file], gate.machine)).toMatchObject({
    code: 2,
    err: expect.stringContaining(`gatepost: ${file}.imported cannot be written: EISDIR\n`),
  });
  expect(sent).toEqual([]);
});

// The gate refused the request, and every further run ended at the same line.
test('`users import` refuses a line of more bytes than the gate takes, and imports the others', async () => {
  const { file, answers, sent } = begin(() => ({
    status: 'completed',
    summary: { inserted: 1, updated: 0, failed: 0 },
  }));
  const long = { email: 'long@b.example', app_metadata: { note: 'x'.repeat(600_000) } };
  const others = [{ email: 'a@b.example' }, { email: 'c@b.example' }];
  writeFileSync(file, [others[0], long, others[1]].map((one) => JSON.stringify(one)).join('\n'));
  await using gate = await openGate(answers);
  expect(await gatepost(['users', 'import', file], gate.machine)).toMatchObject({
    code: 1,
    err: expect.stringContaining('line 2: more than 500000 bytes, which the gate takes at most\n'),
  });
  expect(sent.map((part) => JSON.parse(part))).toEqual([[others[0]], [others[1]]]);
  expect(existsSync(`${file}.imported`)).toBe(false);
});
