/**
 * The URL of the API’s root, which absolute URLs in answers begin with (docs/reference/webhooks-api.md#urls-in-answers): always our own, never
 * one that a request claims. Anybody can send a `Host` or `X-Forwarded-Host`, and our answers may be stored, by a cache or by the receiver of
 * a ping.
 */
import type { TLSSocket } from 'node:tls';
import type { Request } from 'express';

/** `http://localhost:4500` or `https://host/api/v3`: our base, followed by the prefix that the request used. */
export type BaseOf = (request: Request) => string;

/**
 * A base on this machine has several names (`localhost`, `127.0.0.1`, `[::1]`): the answer uses the one that the client chose, since some refuse
 * to follow links to another host.
 */
export function makeBaseOf(own: string | undefined): BaseOf {
  const parsed = new Map<string, URL>(); // one for each port that we listen on
  const parse = (url: string) => {
    const known = parsed.get(url) ?? new URL(url);
    parsed.set(url, known);
    return known;
  };
  return (request) => {
    const base = parse(own ?? `${schemeOf(request)}://localhost:${request.socket.localPort}`);
    const host = request.headers.host?.toLowerCase();
    const name = loopbackNames.includes(base.hostname)
      ? loopbackNames.find((candidate) => host === withPort(candidate, base.port))
      : undefined;
    const path = base.pathname.replace(/\/+$/, '');
    return `${base.protocol}//${withPort(name ?? base.hostname, base.port)}${path}${request.baseUrl}`;
  };
}

const schemeOf = ({ socket }: Request) => ((socket as TLSSocket).encrypted ? 'https' : 'http');

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

const withPort = (name: string, port: string): string => (port === '' ? name : `${name}:${port}`);
