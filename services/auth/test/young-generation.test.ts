/**
 * What one of our patches of oidc-provider (patches/) is for: what belongs to a single request is freed with the young generation, not held
 * until the next full collection. See docs/decisions/0005-libraries.md.
 */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import Provider from 'oidc-provider';

setFlagsFromString('--expose-gc');
const collectYoung = runInNewContext('() => gc({ type: "minor" })') as () => void;
const oldBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;

const requests = 300;
const bytes = 20_000;

test('a request to the gate that has ended holds nothing in the old generation', async () => {
  const client = { client_id: 'c', client_secret: 's', grant_types: ['client_credentials'], redirect_uris: [] };
  const provider = new Provider('http://localhost', {
    clients: [{ ...client, response_types: [] }],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  });
  await using server = createServer(provider.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (index: number) => {
    const sent = request({ port, host: '127.0.0.1', path: '/token', method: 'POST', agent });
    sent.setHeader('content-type', 'application/x-www-form-urlencoded');
    sent.end(`client_id=c&client_secret=s&grant_type=client_credentials&more=${String(index).padEnd(bytes, 'x')}`);
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    expect(response.statusCode).toBe(200);
  };
  try {
    for (let index = 0; index < 5; index += 1) await ask(index);
    collectYoung();
    collectYoung();
    const before = oldBytes();
    for (let index = 0; index < requests; index += 1) {
      await ask(index);
      if (index % 20 === 0) collectYoung();
    }
    collectYoung();
    expect(oldBytes() - before).toBeLessThan((requests * bytes) / 2);
  } finally {
    agent.destroy();
  }
});
