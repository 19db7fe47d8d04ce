/**
 * Asks an HTTP server over a fixed number of connections, in a separate process: as fast as it answers, or at a steady rate. Speaks HTTP/1.1
 * over plain sockets, since a client library would cost more than what is measured.
 */
import { connect } from 'node:net';
import { makeReader } from './http-reader.ts';

export type Load = {
  port: number;
  /** A bearer token. */
  token?: string;
  /** Requested in turn, from a random start in the list. */
  paths: string[];
  /** Form bodies: each path is then posted to with each of them. */
  forms?: string[];
  /** Whole requests instead of paths and forms, as written to the socket. */
  requests?: string[];
  /** Sends each request once, for single-use signatures. Ends when all were sent. */
  once?: boolean;
  connections: number;
  seconds: number;
  /** How long to ask beforehand without counting: opens connections, and compiles the client's code. */
  leadSeconds?: number;
  /** Requests per second over all connections; undefined: as fast as answers come. */
  rate?: number;
};

export type LoadReport = {
  requests: number;
  /** Answers other than 200. */
  failed: number;
  seconds: number;
  /** Milliseconds from when a request was due (so that waiting for a connection counts) to the end of its answer. */
  latencies: number[];
  /** CPU seconds of the client itself, not of the server. */
  cpuSeconds: number;
};

process.once('message', async (load: Load) => {
  process.send?.(await run(load), undefined, undefined, () => process.disconnect());
});

async function run(load: Load): Promise<LoadReport> {
  const report: LoadReport = { requests: 0, failed: 0, seconds: 0, latencies: [], cpuSeconds: 0 };
  const startedAt = performance.now();
  const countsFrom = startedAt + (load.leadSeconds ?? 0) * 1_000;
  const times = { startedAt, countsFrom, endsAt: countsFrom + load.seconds * 1_000 };
  const requests = load.requests ?? requestsOf(load);
  await Promise.all(Array.from({ length: load.connections }, (_, index) => ask(load, requests, index, times, report)));
  report.seconds = (performance.now() - countsFrom) / 1_000;
  const { user, system } = process.cpuUsage();
  report.cpuSeconds = (user + system) / 1e6;
  return report;
}

function requestsOf({ port, token, paths, forms }: Load): string[] {
  const head = `Host: 127.0.0.1:${port}\r\nUser-Agent: bench\r\n${token ? `Authorization: Bearer ${token}\r\n` : ''}`;
  if (!forms) return paths.map((path) => `GET ${path} HTTP/1.1\r\n${head}\r\n`);
  const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length:';
  return paths.flatMap((path) =>
    forms.map((body) => `POST ${path} HTTP/1.1\r\n${head}${form} ${Buffer.byteLength(body)}\r\n\r\n${body}`),
  );
}

async function ask(
  load: Load,
  requests: string[],
  index: number,
  { startedAt, countsFrom, endsAt }: { startedAt: number; countsFrom: number; endsAt: number },
  report: LoadReport,
): Promise<void> {
  const socket = connect(load.port, '127.0.0.1');
  socket.setNoDelay(true);
  const read = makeReader(socket);
  const intervalMs = load.rate === undefined ? 0 : (load.connections / load.rate) * 1_000;
  let dueAt = startedAt + (intervalMs * index) / load.connections;
  const first = Math.floor(Math.random() * requests.length);
  for (let count = 0; ; count += 1) {
    const now = performance.now();
    if (load.rate === undefined) dueAt = now;
    else if (dueAt > now) await new Promise((resolve) => setTimeout(resolve, dueAt - now));
    if (performance.now() >= endsAt) break;
    const request = load.once ? requests.pop() : requests[(first + count) % requests.length];
    if (request === undefined) break;
    socket.write(request);
    const { status } = await read();
    if (status !== 200) report.failed += 1;
    if (dueAt >= countsFrom) {
      report.requests += 1;
      report.latencies.push(performance.now() - dueAt);
    }
    dueAt += intervalMs;
  }
  socket.destroy();
}
