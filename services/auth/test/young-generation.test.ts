/**
 * What one of our patches of oidc-provider (patches/) is for: what belongs to a single request is freed with the young generation, not held
 * until the next full collection. See docs/decisions/0005-libraries.md.
 */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { oldGenerationGrowth } from '@gatepost/testkit/old-generation';
import { expect, test } from '@jest/globals';
import Provider from 'oidc-provider';

const load = { times: 300, bytes: 20_000 };

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
  const ask = async (text: string) => {
    const sent = request({ port, host: '127.0.0.1', path: '/token', method: 'POST', agent });
    sent.setHeader('content-type', 'application/x-www-form-urlencoded');
    sent.end(`client_id=c&client_secret=s&grant_type=client_credentials&more=${text}`);
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    expect(response.statusCode).toBe(200);
  };
  try {
    expect(await oldGenerationGrowth(load, ask)).toBeLessThan((load.times * load.bytes) / 2);
  } finally {
    agent.destroy();
  }
});
