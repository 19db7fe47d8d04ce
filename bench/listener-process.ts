/** Hooks' listeners in a separate process: each forwards what it gets to a receiver by HTTP, as the command line does. */
import { type Agent, Agent as HttpAgent, request } from 'node:http';
import { type Frame, type FrameAnswer, openListener } from '@gatepost/testkit/listener';

/** Sent by the parent, which is told when all are open. */
export type Wanted = { urls: string[]; token: string; forwardTo: string; protocol: string | undefined };

const agent: Agent = new HttpAgent({ keepAlive: true });

process.on('message', async ({ urls, token, forwardTo, protocol }: Wanted) => {
  const answer = (frame: Frame) => forward(forwardTo, frame);
  for (const url of urls) await openListener({ url, token, answer, ...(protocol !== undefined && { protocol }) });
  process.send!('open');
});
process.on('disconnect', () => process.exit());

function forward(url: string, { header, body }: Frame): Promise<FrameAnswer> {
  const headers = Object.fromEntries(Object.entries(header).map(([name, [value = '']]) => [name, value]));
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers: { ...headers, 'Content-Length': body.length } });
    sent.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve({ Status: response.statusCode ?? 0, Header: {}, Body: '' }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
