/** A range service as the one of "Pwned Passwords", at an address of this machine, which answers as a test has it. */
import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Answer = { status: number; body: string };

export async function openRanges() {
  const known = new Map<string, number>();
  const ranges = {
    url: '',
    /** The paths of all requests. */
    asked: [] as string[],
    /** Another answer; or none, for one that answers by itself. */
    answer: undefined as ((response: ServerResponse) => Answer | undefined) | undefined,
    add(password: string) {
      known.set(createHash('sha1').update(password).digest('hex').toUpperCase(), 3);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((request, response) => {
    ranges.asked.push(request.url!);
    const prefix = request.url!.slice(-5);
    const lines = [...known].flatMap(([sha1, count]) => (sha1.startsWith(prefix) ? [`${sha1.slice(5)}:${count}`] : []));
    const usual = { status: 200, body: [`${'0'.repeat(34)}1:0`, ...lines].join('\r\n') };
    const answer = ranges.answer ? ranges.answer(response) : usual;
    if (answer) response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ranges.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/range/`;
  return ranges;
}
