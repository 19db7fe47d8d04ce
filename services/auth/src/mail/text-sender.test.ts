import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeGuard } from '@gatepost/runtime/address';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { makeOutsideFetch } from '../http/outside-fetch.ts';
import { makeTextSender, type TextFormat } from './text-sender.ts';

type Asked = { path: string; authorization: string | undefined; type: string | undefined; body: string };
const asked: Asked[] = [];
/** How the provider answers, in turn; 201 after that. 0 breaks the connection. */
let answers: number[] = [];
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { authorization, 'content-type': type } = request.headers;
  asked.push({ path: request.url ?? '', authorization, type, body: Buffer.concat(chunks).toString() });
  const status = answers.shift() ?? 201;
  if (status === 0) request.socket.destroy();
  else response.writeHead(status, { location: '/elsewhere' }).end('{"sid":"SM1"}');
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
afterAll(() => void server.close());
beforeEach(() => {
  asked.length = 0;
  answers = [];
});
const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
const path = '/2010-04-01/Accounts/AC1/Messages.json';
const sender = (format: TextFormat, allowed = ['127.0.0.0/8'], credentials = 'AC1:to%40ken@') =>
  makeTextSender({
    url: `http://${credentials}${host}${path}`,
    from: '+15550001111',
    format,
    ask: makeOutsideFetch(makeGuard(allowed)) as never,
    pauseMs: 1,
  });
const message = { to: '+15555550100', text: 'Your code is 123456 & good' };

describe('a text message', () => {
  test('is sent as the form that Twilio expects, with the credentials from the URL', async () => {
    await sender('twilio')(message);
    const authorization = `Basic ${Buffer.from('AC1:to@ken').toString('base64')}`;
    expect(asked).toEqual([
      { path, authorization, type: 'application/x-www-form-urlencoded', body: expect.any(String) },
    ]);
    expect(Object.fromEntries(new URLSearchParams(asked[0]!.body))).toEqual({
      To: message.to,
      From: '+15550001111',
      Body: message.text,
    });
  });

  test('is sent with a password that has a stray %, at which the gate did not start', async () => {
    await sender('twilio', undefined, 'AC1:50%off@')(message);
    expect(asked[0]!.authorization).toBe(`Basic ${Buffer.from('AC1:50%off').toString('base64')}`);
  });

  test('is sent as JSON to a webhook of one’s own', async () => {
    await sender('json', undefined, '')(message);
    expect(asked).toEqual([
      { path, authorization: undefined, type: 'application/json', body: JSON.stringify(message) },
    ]);
  });

  test.each([[[500, 429]], [[0, 503]]])('is tried at most three times: %p', async (first) => {
    answers = [...first];
    await sender('twilio')(message);
    expect(asked).toHaveLength(3);
    answers = [...first, 500];
    await expect(sender('twilio')(message)).rejects.toThrow('the provider of text messages (SMS_URL) answered 500');
    expect(asked).toHaveLength(6);
  });

  test.each([400, 401, 302])('is neither retried nor redirected after a refusal: %p', async (status) => {
    answers = [status];
    const error = await sender('twilio')(message).catch((thrown: Error) => thrown);
    expect(String(error)).toContain(`answered ${status}`);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/ken|AC1|123456/);
    expect(asked).toHaveLength(1);
  });

  test('is not sent to a private address unless that is allowed', async () => {
    await expect(sender('twilio', [])(message)).rejects.toThrow('could not be reached');
    expect(asked).toEqual([]);
  });
});
