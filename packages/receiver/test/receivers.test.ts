/** Each kind of receiver in the real framework, sent what other people's libraries signed. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sign } from '@octokit/webhooks-methods';
import express from 'express';
import fastify from 'fastify';
import { Webhook } from 'standardwebhooks';
import {
  type Delivery,
  type DeliveryStore,
  fastifyReceiver,
  memoryStore,
  nodeReceiver,
  readDelivery,
  verifySignature,
  webReceiver,
} from '../src/receiver.ts';

const secret = "It's a Secret to Everybody – ünïcode";
const standardSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const body = '{"action":"opened","issue":{"title":"äöü ☃"}}';

const handled: Delivery[] = [];
let fail: Error | undefined;
let errors: unknown[] = [];
const handle = async (delivery: Delivery) => {
  if (fail) throw fail;
  handled.push(delivery);
};
const options = { secret: [secret, standardSecret], onError: (error: unknown) => errors.push(error) };

/** Headers of a delivery as Gatepost sends it. */
async function headersOf(
  of: string,
  { guid = randomUUID() as string, type = 'application/json', at = new Date() } = {},
) {
  return {
    'content-type': type,
    'x-github-event': 'issues',
    'x-github-delivery': guid,
    'x-github-hook-id': '7',
    'x-gatepost-sequence': '12',
    'x-hub-signature-256': await sign(secret, of),
    'webhook-id': guid,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(standardSecret).sign(guid, at, of),
  } as Record<string, string>;
}

const listen = async (server: Server) => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
};

const kinds: [string, () => Promise<{ url: string; close: () => void }>][] = [
  [
    'Express',
    async () => {
      const app = express();
      app.all('/hook', nodeReceiver(options, handle));
      app.use(express.json());
      const server = createServer(app);
      return { url: await listen(server), close: () => void server.close() };
    },
  ],
  [
    'Express behind express.raw()',
    async () => {
      const app = express();
      app.all('/hook', express.raw({ type: () => true, limit: '75mb' }), nodeReceiver(options, handle));
      const server = createServer(app);
      return { url: await listen(server), close: () => void server.close() };
    },
  ],
  [
    'Fastify',
    async () => {
      const app = fastify();
      await app.register(fastifyReceiver(options, handle), { prefix: '/hook' });
      const url = await app.listen({ host: '127.0.0.1', port: 0 });
      return { url: `${url}/hook`, close: () => void app.close() };
    },
  ],
  [
    'a web-standard Request',
    async () => {
      const receive = webReceiver(options, handle);
      const server = createServer(async (incoming, outgoing) => {
        const hasBody = incoming.method === 'POST';
        const response = await receive(
          new Request(`http://localhost${incoming.url}`, {
            method: incoming.method,
            headers: incoming.headers as Record<string, string>,
            ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' }),
          }),
        );
        outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
      });
      return { url: await listen(server), close: () => void server.close() };
    },
  ],
];

describe.each(kinds)('a receiver with %s', (_kind, open) => {
  let url: string;
  let close: () => void;
  beforeAll(async () => {
    ({ url, close } = await open());
  });
  afterAll(() => close());
  beforeEach(() => {
    handled.length = 0;
    errors = [];
    fail = undefined;
  });
  const post = async (sent: string, headers: Record<string, string>) => {
    const response = await fetch(url, { method: 'POST', body: sent, headers });
    return [response.status, (await response.text()).trim()];
  };

  test('handles a signed delivery, with its event, guid and payload', async () => {
    const headers = await headersOf(body);
    expect(await post(body, headers)).toEqual([200, 'Handled.']);
    expect(handled).toEqual([
      {
        guid: headers['x-github-delivery'],
        event: 'issues',
        action: 'opened',
        hookId: '7',
        sequence: 12,
        payload: JSON.parse(body),
        body: Buffer.from(body),
      },
    ]);
  });

  test('reads a form, and a body of 5 MB', async () => {
    const form = `payload=${encodeURIComponent(body).replaceAll('%20', '+')}`;
    expect(await post(form, await headersOf(form, { type: 'application/x-www-form-urlencoded' }))).toEqual([
      200,
      'Handled.',
    ]);
    expect(handled[0]?.payload).toEqual(JSON.parse(body));
    const large = JSON.stringify({ text: 'x'.repeat(5_000_000) });
    expect(await post(large, await headersOf(large))).toEqual([200, 'Handled.']);
  });

  test('refuses a changed body, another secret, a missing signature and SHA-1', async () => {
    const { 'webhook-signature': _, ...github } = await headersOf(body);
    expect(await post(body.replace('opened', 'closed'), github)).toEqual([
      401,
      expect.stringContaining('X-Hub-Signature-256 is that'),
    ]);
    expect(await post(body, { ...github, 'x-hub-signature-256': await sign('other', body) })).toEqual([
      401,
      expect.anything(),
    ]);
    const { 'x-hub-signature-256': __, ...none } = github;
    expect(await post(body, { ...none, 'x-hub-signature': 'sha1=0000' })).toEqual([
      401,
      expect.stringContaining('There is no'),
    ]);
    expect(handled).toEqual([]);
    expect(errors).toHaveLength(3);
  });

  test('answers a second delivery of an event without handling it', async () => {
    const headers = await headersOf(body);
    expect(await post(body, headers)).toEqual([200, 'Handled.']);
    expect(await post(body, headers)).toEqual([200, 'It was handled before.']);
    expect(handled).toHaveLength(1);
  });

  test('handles an event once for each hook that GitHub’s signature came with', async () => {
    const { 'webhook-signature': _, ...github } = await headersOf(body);
    expect(await post(body, github)).toEqual([200, 'Handled.']);
    expect(await post(body, { ...github, 'x-github-hook-id': '8' })).toEqual([200, 'Handled.']);
    expect(await post(body, { ...github, 'x-github-hook-id': '8' })).toEqual([200, 'It was handled before.']);
  });

  test('handles a failed delivery when it comes again', async () => {
    const headers = await headersOf(body);
    fail = new Error('the disk is full');
    expect(await post(body, headers)).toEqual([500, 'It could not be handled.']);
    expect(errors).toEqual([fail]);
    fail = undefined;
    expect(await post(body, headers)).toEqual([200, 'Handled.']);
  });

  test('tells requests that are not webhooks so', async () => {
    const get = await fetch(url);
    expect([get.status, get.headers.get('allow'), await get.text()]).toEqual([405, 'POST', 'A webhook is a POST.\n']);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(405);
    expect(await post(body, await headersOf(body, { type: 'text/xml' }))).toEqual([415, expect.anything()]);
    expect(await post('[]', await headersOf('[]'))).toEqual([400, 'The payload is not a JSON object.']);
    expect(await post('{', await headersOf('{'))).toEqual([400, 'The payload is not a JSON object.']);
    const { 'x-github-event': _, ...unnamed } = await headersOf(body);
    expect(await post(body, unnamed)).toEqual([400, expect.stringContaining('X-GitHub-Event')]);
  });
});

test('explains that a body parser has already read the body', async () => {
  const app = express().use(express.json());
  app.post('/hook', nodeReceiver(options, handle));
  const server = createServer(app);
  const response = await fetch(await listen(server), { method: 'POST', body, headers: await headersOf(body) });
  expect([response.status, await response.text()]).toEqual([
    500,
    expect.stringContaining('put the receiver before it'),
  ]);
  server.close();
});

test('stops reading a body over the limit', async () => {
  const receive = webReceiver({ ...options, maxBytes: 1000 }, handle);
  let parts = 0;
  const endless = new ReadableStream({
    pull(controller) {
      parts++;
      controller.enqueue(new Uint8Array(100));
    },
  });
  // Node's types of `Request` do not know that a stream asks for `duplex`.
  const init = { method: 'POST', body: endless, headers: await headersOf(body), duplex: 'half' };
  expect((await receive(new Request('http://localhost/', init))).status).toBe(413);
  expect(parts).toBeLessThan(20);
});

describe('the signatures', () => {
  const read = (headers: Record<string, string>) => (name: string) => headers[name];
  const bytes = Buffer.from(body);

  test('with a whsec_ secret refuse another guid, another time, and GitHub’s signature alone', async () => {
    const at = new Date();
    const headers = await headersOf(body, { at });
    const code = (changed: Record<string, string | undefined>, now?: Date) => {
      try {
        verifySignature(standardSecret, (name) => ({ ...headers, ...changed })[name], bytes, now);
        return 'right';
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    expect(code({})).toBe('right');
    expect(code({ 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` })).toBe('right');
    expect(code({ 'webhook-id': 'other', 'x-github-delivery': 'other' })).toBe('wrong_signature');
    expect(code({ 'x-github-delivery': 'other' })).toBe('wrong_signature');
    expect(code({ 'webhook-timestamp': '1' })).toBe('wrong_signature');
    expect(code({ 'webhook-signature': undefined, 'x-hub-signature-256': await sign(standardSecret, body) })).toBe(
      'no_signature',
    );
    expect(code({}, new Date(at.getTime() + 301_000))).toBe('stale');
    expect(code({}, new Date(at.getTime() - 302_000))).toBe('stale');
    expect(code({}, new Date(at.getTime() + 290_000))).toBe('right');
  });

  test('treat a secret that only looks like a Standard Webhooks secret as GitHub’s', async () => {
    for (const short of ['whsec_abc', `whsec_${Buffer.alloc(23).toString('base64')}`])
      verifySignature(short, read({ 'x-hub-signature-256': await sign(short, body) }), bytes);
  });

  test('refuse an empty secret as a mistake', () => {
    expect(() => webReceiver({ secret: '' }, handle)).toThrow('needs a secret');
    expect(() => webReceiver({ secret: [] }, handle)).toThrow('needs a secret');
    expect(() => readDelivery([secret, ''], read({}), bytes)).toThrow('needs a secret');
  });
});

describe('the store', () => {
  test('turns away a delivery while another with the same guid is being handled', async () => {
    let finish = () => {};
    const receive = webReceiver(
      { ...options, store: memoryStore() },
      () => new Promise<void>((done) => (finish = done)),
    );
    const headers = await headersOf(body);
    const request = () => new Request('http://localhost/', { method: 'POST', body, headers });
    const first = receive(request());
    const second = await receive(request());
    // When it comes again is left to the sender, whose waits grow: Retry-After would replace them.
    expect([second.status, second.headers.get('retry-after')]).toEqual([503, null]);
    finish();
    expect((await first).status).toBe(200);
  });

  describe('with whsec_ secrets', () => {
    const [older, newer] = [1, 2].map((fill) => `whsec_${Buffer.alloc(32, fill).toString('base64')}`) as [
      string,
      string,
    ];
    const at = new Date();
    const signed = async (...by: string[]) => {
      const headers = await headersOf(body, { guid: 'one', at });
      return { ...headers, 'webhook-signature': by.map((one) => new Webhook(one).sign('one', at, body)).join(' ') };
    };
    const open = (work: () => unknown = () => {}) => {
      const receive = webReceiver({ secret: [newer, older], onError() {} }, work);
      return async (headers: Record<string, string>) =>
        (await receive(new Request('http://localhost/', { method: 'POST', body, headers }))).text();
    };

    test('knows a recorded delivery again, under another hook id too, and with one of its two signatures', async () => {
      const send = open();
      const both = await signed(newer, older);
      expect(await send(both)).toBe('Handled.\n');
      for (const again of [both, await signed(newer), await signed(older)])
        for (const hook of ['7', '8'])
          expect(await send({ ...again, 'x-github-hook-id': hook })).toBe('It was handled before.\n');
    });

    test('knows an event again whose secret changed between two attempts', async () => {
      const send = open();
      expect(await send(await signed(older))).toBe('Handled.\n');
      expect(await send(await signed(newer, older))).toBe('It was handled before.\n');
      expect(await send(await signed(newer))).toBe('It was handled before.\n');
    });

    test('handles an event of two hooks with a secret each twice, and one that failed again', async () => {
      const outcomes = [new Error('the disk is full')];
      const send = open(() => {
        for (const error of outcomes.splice(0)) throw error;
      });
      const both = await signed(newer, older);
      expect(await send(both)).toBe('It could not be handled.\n');
      expect(await send(await signed(newer))).toBe('Handled.\n');
      expect(await send(await signed(older))).toBe('Handled.\n');
    });
  });

  test('in memory forgets the oldest guid first', async () => {
    const store: DeliveryStore = memoryStore({ max: 2 });
    for (const key of ['a', 'b', 'c']) expect(await store.claim(key)).toBe('new');
    expect(await store.claim('c')).toBe('running');
    expect(await store.claim('a')).toBe('new');
  });
});
