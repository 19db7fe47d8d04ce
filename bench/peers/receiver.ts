/**
 * The receiver of every target's deliveries: a separate process that answers 200 and recognizes a message by its content, however it is wrapped
 * (`payloadOf` in publisher.ts). No arguments. Sends its port, then answers `count`, `report` and `reset`.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Latencies in ms, from when a message was made to the end of its first request. Times in ms since 1970. */
export type Received = { received: number; doubled: number; firstAt: number; lastAt: number; latencies: number[] };

const nothing = (): Received => ({ received: 0, doubled: 0, firstAt: 0, lastAt: 0, latencies: [] });
let report = nothing();
let seen = new Set<string>();

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(200, { 'content-length': 0 }).end();
    const at = performance.timeOrigin + performance.now();
    const [, id, sentAt] = /"bench":\s*"([\w-]{36})@([\d.]+)"/.exec(Buffer.concat(chunks).toString('latin1')) ?? [];
    if (id === undefined) return; // a ping, or a challenge from the target
    if (seen.has(id)) {
      report.doubled += 1;
      return;
    }
    seen.add(id);
    report.received += 1;
    report.firstAt ||= at;
    report.lastAt = at;
    report.latencies.push(at - Number(sentAt));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.2', () => process.send!({ port: (server.address() as AddressInfo).port }));

process.on('message', (message) => {
  if (message === 'count') process.send!(report.received);
  if (message === 'report') process.send!(report);
  if (message === 'reset') {
    report = nothing();
    seen = new Set();
    process.send!('reset');
  }
});
process.on('disconnect', () => process.exit());
