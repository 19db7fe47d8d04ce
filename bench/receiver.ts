/** The benchmarks' receiver, a separate process: checks every signature, and counts what came, came twice or came late. */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Sent to the parent in answer to `report`. Latencies in ms, from `sent_at` in the body to the end of the request. */
export type Report = {
  received: number;
  duplicates: number;
  badSignatures: number;
  firstAt: number;
  lastAt: number;
  latencies: number[];
  /** When each request was complete, ms since 1970; including copies. */
  arrivals: number[];
  /** The guid of each of those requests. */
  guids: string[];
};

const [, , secret = '', manner] = process.argv;
const now = () => performance.timeOrigin + performance.now();
let report = empty();
let seen = new Set<string>();

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (manner !== 'hang') response.writeHead(204).end();
    const at = now();
    if (request.headers['x-github-event'] === 'ping') return;
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    if (request.headers['x-hub-signature-256'] !== expected) report.badSignatures += 1;
    const key = `${request.headers['x-github-hook-id']} ${request.headers['x-github-delivery']}`;
    if (seen.has(key)) report.duplicates += 1;
    else {
      seen.add(key);
      report.received += 1;
    }
    report.arrivals.push(at);
    report.guids.push(String(request.headers['x-github-delivery']));
    report.firstAt ||= at;
    report.lastAt = at;
    const sentAt = /"sent_at":([\d.]+)/.exec(body.toString('latin1', 0, 64));
    if (sentAt) report.latencies.push(at - Number(sentAt[1]));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.2', () => process.send!({ port: (server.address() as AddressInfo).port }));

process.on('message', (message) => {
  if (message === 'count') process.send!({ received: report.received });
  if (message === 'report') process.send!(report);
  if (message === 'reset') {
    report = empty();
    seen = new Set();
    process.send!('reset');
  }
});
process.on('disconnect', () => process.exit());

function empty(): Report {
  return {
    received: 0,
    duplicates: 0,
    badSignatures: 0,
    firstAt: 0,
    lastAt: 0,
    latencies: [],
    arrivals: [],
    guids: [],
  };
}
