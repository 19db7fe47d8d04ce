/**
 * Reads the bodies that machines and SDKs post to the protocol's endpoints, before Express, whose parsers and routers cost more than most
 * answers: forms and JSON of known length in UTF-8. Any other body is left to the app.
 */
import type { IncomingMessage } from 'node:http';
import { formOf, readJson } from './json-body.ts';
import { checkForm, checkTokens, parseForm } from './well-formed.ts';

/** A request whose body may have been read: as text; JSON becomes fields once it is checked. */
export type ReadRequest = IncomingMessage & { body?: unknown };

const bodyMaxBytes = 56 * 1_024;

/** The protocol's endpoints that accept a form, or JSON as Auth0's SDKs send it. */
export const protocolEndpoints = [
  '/oauth/token',
  '/oauth/revoke',
  '/oauth/introspect',
  '/oauth/par',
  '/oauth/device/code',
];

const formType = 'application/x-www-form-urlencoded';
const withCharset = (type: string) => [type, `${type};charset=utf-8`, `${type}; charset=utf-8`];
const plainTypes = new Map([
  ...withCharset(formType).map((type) => [type, 'form'] as const),
  ...withCharset('application/json').map((type) => [type, 'json'] as const),
]);
const plainPaths = new Set(protocolEndpoints);

/** The kind of a plain body; undefined if the body is not plain or the path is another. */
function plainKind({ method, url = '', headers }: IncomingMessage): 'form' | 'json' | undefined {
  if (method !== 'POST' || !plainPaths.has(url)) return undefined;
  const length = Number(headers['content-length']);
  if (!(length > 0 && length <= bodyMaxBytes)) return undefined;
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined) return undefined;
  return plainTypes.get(headers['content-type']?.toLowerCase() ?? '');
}

/** Calls `next` once the body's text is in `request.body`, or at once if the body is not plain. */
export function readPlainBody(request: ReadRequest, next: () => void): void {
  if (plainKind(request) === undefined) {
    next();
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.once('end', () => {
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    const text = bytes.toString();
    request.body = text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text;
    next();
  });
}

const byteOrderMark = 0xfeff;

/**
 * Checks the text, and makes a form of JSON. A form that is not empty stays text, which the library parses itself (it would write fields as
 * text again first), unless `asFields`. @throws for anything that the app must refuse; the request is then unchanged
 */
export function takePlainBody(request: ReadRequest, body: string, asFields: boolean): void {
  if (plainKind(request) === 'form') {
    if (asFields || body === '') request.body = parseForm(body);
    else checkForm(body);
    return;
  }
  const form = formOf(readJson(body));
  if (typeof form === 'string') throw new TypeError(form);
  checkTokens(form);
  request.body = form;
  request.headers['content-type'] = formType;
}
