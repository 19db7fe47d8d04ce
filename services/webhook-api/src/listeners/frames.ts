/**
 * The frames of a listener's WebSocket: the protocol of GitHub's command line extension (https://github.com/cli/gh-webhook,
 * webhook/forward.go: `wsEventReceived` and `httpEventForward`), plus an `Id` with our own subprotocol. Pure.
 */
import type { ForwardAnswer, ForwardRequest } from '@gatepost/contracts/forwarding';
import { z } from 'zod';

/** Allows several deliveries at once: each has an `Id`, which its answer repeats. */
export const ownProtocol = 'gatepost.v1';

/** The bounds of an HTTP answer: what Node reads of a head, and what the log keeps of a body. */
const headersMaxBytes = 16 * 1024;
const bodyMaxBytes = 64 * 1024;
const errorMaxLength = 200;

/** `Header` as Go's `http.Header`, `Body` in base64. */
export function encodeFrame({ headers, body }: Pick<ForwardRequest, 'headers' | 'body'>, id?: string): string {
  const Header: Record<string, string[]> = {};
  for (const [name, value] of Object.entries(headers)) Header[canonical(name)] = [value];
  // Avoids needless copies of a large body.
  const head = JSON.stringify({ ...(id !== undefined && { Id: id }), Header });
  return `${head.slice(0, -1)},"Body":"${body.toString('base64')}"}`;
}

/** A name spelled as by Go's `textproto.CanonicalMIMEHeaderKey`; `Header.Get` finds no other spelling. */
function canonical(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase());
}

const answerSchema = z.object({
  Id: z.string().max(100).optional(),
  Status: z.number().optional(),
  Header: z.record(z.string(), z.array(z.string()).nullable()).nullish(),
  Body: z.string().nullish(),
  /** Our own: the receiver behind the listener could not be reached. */
  Error: z.string().optional(),
});

/** A listener's answer, with its delivery if given; undefined if it violates the protocol. Nothing in it is trusted. */
export function parseAnswer(text: string): { id: string | undefined; answer: ForwardAnswer } | undefined {
  const { data } = answerSchema.safeParse(parseJson(text));
  return data && { id: data.Id, answer: readAnswer(data) };
}

function readAnswer({ Status: status, Header: header, Body: body, Error: failure }: z.infer<typeof answerSchema>) {
  if (failure !== undefined) {
    const message = failure.replace(/\p{Cc}+/gu, ' ').slice(0, errorMaxLength);
    return { kind: 'error', code: 'ELISTENER', message, hadResponse: false } as const;
  }
  if (status === undefined || !Number.isInteger(status) || status < 100 || status > 999)
    return invalid('HPE_INVALID_STATUS');
  const headers = flat(header ?? {});
  if (typeof headers === 'string') return invalid(headers);
  const kept = Buffer.from((body ?? '').slice(0, Math.ceil(bodyMaxBytes / 3) * 4), 'base64');
  return { kind: 'response', status, headers, body: kept.subarray(0, bodyMaxBytes) } as const;
}

/** Lower-case names with repeated values joined by a comma, as in an HTTP answer; or what is wrong with them. */
function flat(header: Record<string, string[] | null>): Record<string, string> | string {
  const headers: Record<string, string> = {};
  let bytes = 0;
  for (const [name, values] of Object.entries(header)) {
    const value = (values ?? []).join(', ');
    bytes += name.length + value.length;
    if (bytes > headersMaxBytes) return 'HPE_HEADER_OVERFLOW';
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value))
      return 'HPE_INVALID_HEADER_TOKEN';
    // Keeps `__proto__` from being special.
    Object.defineProperty(headers, name.toLowerCase(), { value, enumerable: true, configurable: true });
  }
  return headers;
}

const invalid = (code: string) => ({ kind: 'error', code, message: code, hadResponse: false }) as const;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
