/** Requests to the ops port that reveal more than metrics, or change something: who may make them, their bodies and answers. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const bodyMaxBytes = 4096;

/**
 * Whether the request may be answered: with a token configured, only if it carries the token; without one, only if it comes from this machine.
 * That excludes a local proxy, which speaks for others, and a page in a local browser, which may have its own name resolve to us.
 */
export function mayOperate({ headers, socket }: IncomingMessage, token: string | undefined): boolean {
  if (token !== undefined) {
    const [, given] = /^Bearer (\S+)$/i.exec(headers.authorization ?? '') ?? [];
    return given !== undefined && timingSafeEqual(digest(given), digest(token));
  }
  const isProxied = ['forwarded', 'x-forwarded-for', 'via'].some((name) => headers[name] !== undefined);
  return (
    !isProxied &&
    headers.origin === undefined &&
    /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/.test(socket.remoteAddress ?? '') &&
    /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i.test(headers.host ?? '')
  );
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The body as JSON; undefined if it is invalid, too long, or cut off. */
export async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  try {
    // The whole body is read, so that the connection can serve the next request.
    for await (const chunk of request.setEncoding('utf8')) if (text.length <= bodyMaxBytes) text += chunk;
    return text.length <= bodyMaxBytes ? JSON.parse(text) : undefined;
  } catch {
    return undefined; // the caller says what is expected
  }
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(`${JSON.stringify(body)}\n`);
}
