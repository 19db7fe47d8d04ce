import { openReceiver } from '@gatepost/testkit/receiver';
import { expect, test } from '@jest/globals';
import { openSend } from './request.ts';

// A receiver that answered in time was failed for the seconds in which we kept it waiting.
test.each([
  ['that is sent in pieces', { parts: { count: 4, pauseMs: 400 } }],
  ['that is slow', { halfway: () => new Promise((resolve) => setTimeout(resolve, 1_200)) }],
])('of a delivery %s only the receiver’s own time counts', async (_, slowly) => {
  await using receiver = await openReceiver({ host: '127.0.0.1', behave: { delayMs: 500 } });
  const send = openSend(new URL(receiver.url), 'secret', 1_000);
  expect(await send({ event: 'push', body: Buffer.from('{"a":1}'), ...slowly })).toEqual({ status: 200 });
  receiver.behave({ fault: 'hang' });
  expect(await send({ event: 'push', body: Buffer.from('{}') })).toEqual({ error: 'no answer within 1 s' });
});
