/** One HTTP request. Redirects are not followed: a token goes only to the server it was issued for. */
import { Problem } from '../problem.ts';
import { version } from '../version.ts';

export type Asked = {
  method?: string;
  headers?: Record<string, string>;
  body?: string | URLSearchParams | FormData;
  signal?: AbortSignal;
  /** Takes a good answer as it comes, for as long as something does; true: that is enough. */
  onText?: (text: string) => boolean;
};
export type Answered = { status: number; headers: Headers; text: string };

const timeoutMs = 30_000;

/** @throws Problem `unreachable` when there is no answer, `failed` for a redirect. */
export async function request(url: string, { signal, onText, ...asked }: Asked = {}): Promise<Answered> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`nothing for ${timeoutMs / 1000} s`)), timeoutMs);
  let answered: Answered;
  try {
    const response = await fetch(url, {
      ...asked,
      redirect: 'manual',
      headers: { 'user-agent': `gatepost-cli/${version}`, ...asked.headers },
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    });
    const { status, headers, ok, body } = response;
    const text = onText && ok && body ? await pass(body, onText, timer) : await response.text();
    answered = { status, headers, text };
  } catch (error) {
    signal?.throwIfAborted();
    throw noAnswer(new URL(url).origin, error as Error & { cause?: NodeJS.ErrnoException });
  } finally {
    clearTimeout(timer);
  }
  const { status, headers } = answered;
  if (status >= 300 && status < 400 && status !== 304)
    throw new Problem(
      'failed',
      `${url} leads on to ${headers.get('location')}, which gatepost does not follow with a token`,
      'Sign in at the address where the API really is: gatepost login --api URL',
    );
  return answered;
}

/** @returns what is left of it: nothing */
async function pass(
  body: ReadableStream<Uint8Array>,
  onText: (text: string) => boolean,
  timer: NodeJS.Timeout,
): Promise<string> {
  const decoder = new TextDecoder();
  for await (const part of body) {
    timer.refresh();
    if (onText(decoder.decode(part, { stream: true }))) break;
  }
  return '';
}

function noAnswer(origin: string, error: Error & { cause?: NodeJS.ErrnoException }): Problem {
  const { cause } = error;
  const why = cause?.code ?? cause?.message ?? error.message;
  const isCertificate = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(String(why));
  return new Problem(
    'unreachable',
    `${origin} does not answer: ${why}`,
    isCertificate
      ? 'Its certificate is not trusted here. For a certificate authority of your own: NODE_EXTRA_CA_CERTS=FILE gatepost …'
      : 'Is the address right, and is it running? `gatepost whoami` shows which one is meant.',
  );
}

/** An answer's JSON. @throws Problem when something else answers. */
export function parseJson(text: string, url: string): unknown {
  try {
    return JSON.parse(text, /\d{16}/.test(text) ? exactly : undefined);
  } catch {
    throw new Problem('failed', `${url} does not answer with JSON`, 'Is it the webhook API of Gatepost?');
  }
}

const rawJson = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON;

/** An integer in a payload that JavaScript would round stays as it was written; Node has had a way to do that since version 21. */
function exactly(_name: string, value: unknown, written?: { source?: string }): unknown {
  const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isRounded && rawJson && written?.source ? rawJson(written.source) : value;
}

/** Secrets must not cross a network in plain text, nor be shown: fetch would repeat in its error a password that it does not send. */
export function checkTransport(url: string, env: NodeJS.ProcessEnv): void {
  const { protocol, hostname, username, password } = parseUrl(url);
  if (username || password)
    throw new Problem('usage', 'an address must not have a user name or a password in it', 'They would not be sent.');
  const isHere =
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(hostname);
  if (protocol === 'https:' || (protocol === 'http:' && (isHere || env.GATEPOST_ALLOW_HTTP === '1'))) return;
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new Problem('usage', `${url} is no http or https URL`, 'Begin it with http:// or https://.');
  throw new Problem(
    'usage',
    `${url} is not https: tokens would cross the network in the clear`,
    'GATEPOST_ALLOW_HTTP=1 allows it.',
  );
}

export function parseUrl(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw new Problem('usage', `${url} is no URL`, 'Begin it with http:// or https://.');
  }
}
