/** Prints by how many bytes the old generation grows while requests to the gate come and end: see young-generation.test.ts. */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { oldGenerationGrowth } from '@gatepost/testkit/old-generation';
import Provider from 'oidc-provider';

const client = { client_id: 'c', client_secret: 's', grant_types: ['client_credentials'], redirect_uris: [] };
const provider = new Provider('http://localhost', {
  clients: [{ ...client, response_types: [] }],
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
});
const server = createServer(provider.callback()).listen(0, '127.0.0.1');
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
  if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
};
console.log(await oldGenerationGrowth({ times: 300, bytes: 20_000 }, ask));
process.exit();
