import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { type DeliveryJob, deriveJobKey, jobBodyMaxBytes, jobMessage, openJob } from './delivery-job.ts';

const key = deriveJobKey(Buffer.alloc(32, 1));
const payload = Buffer.from('{"a":1}');
const job: DeliveryJob = {
  deliveryId: 7,
  guid: '0190f0c2-5d7b-7c3e-9f52-0c6f5f5b7a11',
  hookId: 3,
  event: 'push',
  action: null,
  eventKey: '7837a156-11ab-5a47-988f-d14d136a56ce',
  eventOn: '2026-01-02',
  accountId: 1,
  repositoryId: null,
  occurredAt: '2026-01-02T03:04:05.678Z',
  attempt: 1,
  redelivery: false,
  throttledAt: null,
  retries: true,
};

describe('the message of a job', () => {
  test('opens under the key it was made under', () => {
    expect(openJob(jobMessage(job, payload, key), key)).toEqual({ kind: 'job', job });
  });

  test('leaves out a payload that is too large for the message, and can still be opened', () => {
    const message = jobMessage(job, Buffer.alloc(jobBodyMaxBytes + 1, ' '), key);
    expect(message.body).toHaveLength(0);
    expect(openJob(message, key)).toEqual({ kind: 'job', job });
  });

  const other = deriveJobKey(randomBytes(32));

  test('opens under either of two keys during a change of keys', () => {
    expect(openJob(jobMessage(job, payload, other), key, other)).toEqual({ kind: 'job', job });
    expect(openJob(jobMessage(job, payload, key), key, other)).toEqual({ kind: 'job', job });
  });

  const made = jobMessage(job, payload, key);
  const changed = (headers: Record<string, unknown>) => ({ ...made, headers: { ...made.headers, ...headers } });
  test.each<[string, { headers: Record<string, unknown>; body: Buffer }]>([
    ['made under another key', jobMessage(job, payload, other)],
    ['with another body', { ...made, body: Buffer.from('{"a":2}') }],
    ['with no body', { ...made, body: Buffer.alloc(0) }],
    ['for another hook', changed({ job: JSON.stringify({ ...job, hookId: 4 }) })],
    ['with the same job in other letters', changed({ job: JSON.stringify(job, undefined, 1) })],
    [
      'with the code of another job',
      changed({ 'job-code': jobMessage({ ...job, attempt: 2 }, payload, key).headers['job-code'] }),
    ],
    ['with a code that is cut off', changed({ 'job-code': made.headers['job-code'].slice(0, 20) })],
    ['with an empty code', changed({ 'job-code': '' })],
    ['with a code that is no text', changed({ 'job-code': { '!': 'timestamp', value: 1 } })],
  ])('is refused %s', (_, message) => {
    expect(openJob(message, key)).toMatchObject({ kind: 'refused', reason: 'job_not_authentic' });
  });

  test('without a code is recognized as such, and a message without a job is refused', () => {
    expect(openJob(changed({ 'job-code': undefined }), key)).toEqual({ kind: 'unsigned', job });
    for (const text of [undefined, 7, '', '{', 'null', '[]', '{"deliveryId":1}'])
      expect(openJob(changed({ job: text }), key)).toMatchObject({ kind: 'refused', reason: 'not_a_job' });
  });

  test('has the code of its own body, whatever message was made before it', () => {
    const bodies = [payload, Buffer.from('{"a":1}'), Buffer.from('{"b":1}')];
    const codes = bodies.map((body) => jobMessage(job, body, key).headers['job-code']);
    expect(codes[1]).toBe(codes[0]);
    expect(codes[2]).not.toBe(codes[0]);
  });
});
