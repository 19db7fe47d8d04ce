/** Sends a request as it is, and says what is wrong with the answer, whatever was asked. */
import { Agent, request } from 'node:http';
import { callback } from '../target.ts';
import type { Attempt } from './attempts.ts';

export type Seen = { status: number; headers: Record<string, string | string[] | undefined>; text: string };

export function openSender(issuer: string): { send(attempt: Attempt): Promise<Seen | undefined> } & Disposable {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const { hostname, port } = new URL(issuer);
  return {
    /** Undefined when the connection broke: a body that is refused before it is read. */
    send({ method, path, type, body, headers }) {
      const sent = Object.entries({ ...headers, 'content-type': type }).filter(([, value]) => value !== undefined);
      const bytes = body === undefined || method === 'GET' ? undefined : Buffer.from(body);
      const length = bytes ? { 'content-length': bytes.length } : {};
      return new Promise((resolve, reject) => {
        const outgoing = request(
          {
            hostname,
            port,
            method,
            path: `/${path}`,
            agent,
            headers: { ...Object.fromEntries(sent), ...length } as never,
          },
          (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
            response.on('error', reject);
            response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
          },
        );
        outgoing.on('error', (error: NodeJS.ErrnoException) => {
          if (error.code === 'EPIPE' || error.code === 'ECONNRESET') resolve(undefined);
          else reject(error);
        });
        // Far beyond any answer, however busy the machine is: a request that nobody answers is a fault.
        outgoing.setTimeout(30_000, () =>
          outgoing.destroy(new Error(`no answer to ${method} ${path} ${body?.slice(0, 300)}`)),
        );
        outgoing.end(bytes);
      });
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

// The statuses of RFC 6749 and 6750, of OpenID and of HTTP itself; 503 is the password pool that sheds load.
const refusals = new Set([400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 429, 431, 503]);

/** What is wrong with an answer; undefined when nothing is. */
export function flawOf(
  asked: Attempt,
  { status, headers, text }: Seen,
  issuer: string,
  secrets: Record<string, string>,
) {
  if (status >= 500 && !(status === 503 && text.includes('temporarily_unavailable'))) return 'a server error';
  if (status >= 400 && !refusals.has(status)) return 'a strange status';
  if (headers.location !== undefined && !isVerified(String(headers.location), issuer)) return 'an unverified redirect';
  const type = String(headers['content-type'] ?? '');
  if (
    status !== 303 &&
    status !== 302 &&
    type.includes('html') &&
    !String(headers['content-security-policy']).includes("default-src 'none'")
  )
    return 'a page without a policy';
  const isProblem = status >= 400 && asked.method !== 'HEAD' && type.includes('json');
  if (isProblem && typeof JSON.parse(text).error !== 'string') return 'no error code';
  if (/node_modules|\.ts:\d+|PrismaClient|at async |RangeError|TypeError/.test(text)) return 'the inside shows';
  const whole = `${text}\n${Object.values(headers).flat().join('\n')}`;
  for (const [name, secret] of Object.entries(secrets)) if (whole.includes(secret)) return `the secret "${name}" shows`;
  return undefined;
}

/** Where a redirect may lead: ourselves, and the addresses that clients have registered. */
function isVerified(location: string, issuer: string): boolean {
  const url = new URL(location, issuer);
  if (url.origin === new URL(issuer).origin) return true;
  const registered = [
    callback,
    'https://app.example/',
    'https://app.example/bye',
    'http://127.0.0.1/callback',
    `${callback}2`,
  ];
  return registered.includes(`${url.protocol}//${url.host}${url.pathname}`);
}
