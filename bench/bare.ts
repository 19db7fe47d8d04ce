/**
 * The ceiling: the same POSTs by a bare client, with nothing around it, `concurrency` at a time. A separate process with its own CPU time.
 * Arguments: got | request | http, url, how many, concurrency. Sends its figures to the parent.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import got, { Options, type Request } from 'got';
import { payload } from './payload.ts';

/** got as it is; got with our own request function, as for deliveries; node:http. */
export type Client = 'got' | 'request' | 'http';
export type Bare = { seconds: number; cpuSeconds: number };

const [client, url = '', count = '0', concurrency = '64'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number(concurrency) });
const headers = (guid: string) => ({
  Accept: '*/*',
  'Content-Type': 'application/json',
  'User-Agent': 'Gatepost-Hookshot/bench',
  'X-GitHub-Delivery': guid,
  'X-GitHub-Event': 'push',
  'X-GitHub-Hook-ID': '1',
  'X-GitHub-Hook-Installation-Target-ID': '1',
  'X-GitHub-Hook-Installation-Target-Type': 'repository',
  'X-Hub-Signature': `sha1=${'0'.repeat(40)}`,
  'X-Hub-Signature-256': `sha256=${'0'.repeat(64)}`,
  'webhook-id': guid,
  'webhook-timestamp': '1700000000',
});
const bodyOf = () => payload(performance.timeOrigin + performance.now());

const byGot = got.extend({
  agent: { http: agent },
  retry: { limit: 0 },
  followRedirect: false,
  decompress: false,
  throwHttpErrors: false,
  timeout: { request: 10_000 },
  responseType: 'buffer',
});
// As in the dispatcher (services/dispatcher/src/delivering): options are prepared, and our request function sends the whole request.
const prepared = new Options(url, {
  method: 'POST',
  retry: { limit: 0 },
  followRedirect: false,
  decompress: false,
  throwHttpErrors: false,
});
prepared.isStream = true;
prepared.freeze();
const { hostname, port, path } = urlToHttpOptions(new URL(url));
const address = { hostname: hostname!, port: Number(port), path: path! };
const { host } = new URL(url);
const sendAll = (guid: string) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const body = bodyOf();
    const sent = request({
      method: 'POST',
      agent,
      headers: ['Host', host, ...Object.entries(headers(guid)).flat(), 'Content-Length', String(body.length)],
      ...address,
    });
    sent.on('response', resolve).on('error', reject).end(body);
  });
const post = {
  request: (guid: string) =>
    new Promise<void>((resolve, reject) => {
      const stream = got(undefined, undefined, prepared) as unknown as Request;
      stream.options.request = () => sendAll(guid);
      stream.on('data', () => {}).on('end', resolve);
      stream.on('error', reject);
      stream.end();
    }),
  got: (guid: string) => byGot.post(url, { headers: headers(guid), body: bodyOf() }).then(() => {}),
  http: (guid: string) =>
    new Promise<void>((resolve, reject) => {
      const body = bodyOf();
      const sent = request(
        url,
        { method: 'POST', agent, headers: { ...headers(guid), 'Content-Length': body.length } },
        (response) => {
          response.resume().on('end', resolve);
        },
      );
      sent.on('error', reject);
      sent.end(body);
    }),
}[client as Client];

await run(500); // warm up
const cpuBefore = process.cpuUsage();
const from = performance.now();
await run(Number(count));
const cpu = process.cpuUsage(cpuBefore);
process.send!({ seconds: (performance.now() - from) / 1000, cpuSeconds: (cpu.user + cpu.system) / 1e6 } satisfies Bare);
process.disconnect();

async function run(total: number): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Number(concurrency) }, async () => {
      while (next < total) {
        next += 1;
        await post(`guid-${next}`);
      }
    }),
  );
}
