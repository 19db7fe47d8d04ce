/** A server of the gate's own network, which nobody else is to reach. */
import { createServer } from 'node:http';

/** Listens on 127.0.0.1; `asked()` is the number of requests that have come. */
export async function openCountingServer(): Promise<Disposable & { port: number; asked(): number }> {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { port, asked: () => asked, [Symbol.dispose]: () => void server.close() };
}
