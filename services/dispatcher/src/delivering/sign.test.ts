import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { makeKeys, sign } from './sign.ts';

test('the signature of GitHub’s published example comes out the same', async () => {
  const { sha256 } = await sign(makeKeys("It's a Secret to Everybody"), Buffer.from('Hello, World!'), 'id', '1');
  expect(sha256).toBe('sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17');
});

test('the signature of Standard Webhooks’ published example comes out the same', async () => {
  const keys = makeKeys('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const { standard } = await sign(
    keys,
    Buffer.from('{"test": 2432232314}'),
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    '1614265330',
  );
  expect(standard).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('a large body that is signed in slices gets the same signatures as in one piece', async () => {
  const body = Buffer.from('gatepost '.repeat(200_000));
  const keys = makeKeys('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const sameSecret = makeKeys('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const [one, other, foreign] = await Promise.all([
    sign(keys, body, 'id', '1'),
    sign(sameSecret, body, 'id', '1'),
    sign(makeKeys('another'), body, 'id', '1'),
  ]);
  const whole = (algorithm: string) => createHmac(algorithm, keys.hub).update(body).digest('hex');
  expect(one).toMatchObject({ sha1: `sha1=${whole('sha1')}`, sha256: `sha256=${whole('sha256')}` });
  expect(one.standard).toBe(`v1,${createHmac('sha256', keys.standard!).update('id.1.').update(body).digest('base64')}`);
  expect(other).toEqual(one);
  expect(foreign.sha256).toBe(`sha256=${createHmac('sha256', 'another').update(body).digest('hex')}`);
});

test.each([
  ['deadbeef', 'plain, though it is valid base64'],
  ['whsec_', 'empty'],
  ['whsec_c2hvcnQ=', 'fewer than 24 bytes'],
  [`whsec_${Buffer.alloc(65).toString('base64')}`, 'more than 64 bytes'],
  ['whsec_not base64!', 'not base64'],
])('%s gives no Standard Webhooks signature: %s', (secret) => {
  expect(makeKeys(secret).standard).toBeNull();
});
