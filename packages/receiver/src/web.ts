import { type Handler, openReceive, type ReceiverOptions } from './receive.ts';

/** Turns a web-standard `Request` into its `Response`, as Hono, Next.js, Bun and Deno use them. */
export function webReceiver(options: ReceiverOptions, handle: Handler): (request: Request) => Promise<Response> {
  const receive = openReceive(options, handle);
  return async (request) => {
    const body = request.bodyUsed ? null : (request.body ?? []);
    const { status, headers, text } = await receive(request.method, (name) => request.headers.get(name), body);
    return new Response(text, { status, headers });
  };
}
