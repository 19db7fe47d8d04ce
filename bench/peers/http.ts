/** A plain client, the same for every target: node:http, kept-alive connections, no redirects followed. */
import { Agent, request } from 'node:http';
import type { render } from './target.ts';

export type Asker = ((asked: ReturnType<typeof render>) => Promise<{ status: number; text: string }>) & {
  close(): void;
};

export function asker(connections: number): Asker {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling: 'fifo' });
  const ask = ({ method, url, headers, body }: ReturnType<typeof render>) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const sent = request(url, { method, agent, headers: { ...headers, ...length } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode!, text }));
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  return Object.assign(ask, { close: () => agent.destroy() });
}
