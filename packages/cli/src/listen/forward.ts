/** Passes a delivery to a receiver on this machine, byte for byte. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Delivery } from './delivery.ts';

export type Outcome =
  | { status: number; headers: Record<string, string[]>; body: Buffer; ms: number }
  | { error: string; ms: number };

/** Longer than the server waits, so that the server is the one to give up. */
const timeoutMs = 60_000;
const bodyMaxBytes = 65_536;
const headersMaxBytes = 12_288;
/** Headers of a connection rather than a message (RFC 9110 section 7.6.1), and those that Node writes itself. */
const ownHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'proxy-connection',
]);

/** Never throws: a failure at the receiver is an outcome, and so is the end of the command (`signal`). */
export function forward(url: URL, { headers, body }: Delivery, signal?: AbortSignal): Promise<Outcome> {
  const begun = performance.now();
  const ms = () => Math.round(performance.now() - begun);
  const kept = Object.entries(headers).filter(([name]) => !ownHeaders.has(name.toLowerCase()));
  const failed = (error: Error) => ({ error: describe(error), ms: ms() });
  const made = new Promise<Outcome>((resolve) => {
    const fail = (error: Error) => resolve(failed(error));
    const asked = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method: 'POST',
      headers: { ...Object.fromEntries(kept), 'content-length': String(body.length) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    const interrupt = () => asked.destroy(new Error('interrupted'));
    signal?.addEventListener('abort', interrupt, { once: true });
    asked.on('close', () => signal?.removeEventListener('abort', interrupt));
    asked.on('error', fail);
    asked.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const done = () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: headersOf(response.rawHeaders),
          body: Buffer.concat(chunks).subarray(0, bodyMaxBytes),
          ms: ms(),
        });
      response.on('data', (chunk: Buffer) => {
        if (bytes < bodyMaxBytes) chunks.push(chunk);
        bytes += chunk.length;
        if (bytes < 100 * bodyMaxBytes) return;
        done(); // nobody displays this much
        response.destroy();
      });
      response.on('end', done).on('error', fail);
    });
    if (signal?.aborted) interrupt();
    else asked.end(body);
  });
  return made.catch(failed); // such as for a header that no request may have
}

/** In Go's spelling, as in the protocol's frames. */
function headersOf(raw: string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  let bytes = 0;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name, value] = [raw[index]!, raw[index + 1]!];
    bytes += name.length + value.length;
    if (bytes > headersMaxBytes) break;
    const spelled = name.toLowerCase().replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
    headers[spelled] = [...(headers[spelled] ?? []), value];
  }
  return headers;
}

function describe(error: Error & { code?: string; errors?: Error[] }): string {
  // `localhost` is tried as both ::1 and 127.0.0.1, each with its own error.
  const text = error.message || error.errors?.map(({ message }) => message).join(', ') || error.code || 'failed';
  return error.name === 'TimeoutError' ? `no answer within ${timeoutMs / 1000} s` : text;
}
