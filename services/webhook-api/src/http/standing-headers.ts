/** The headers of every answer, and answers to browsers’ preflight requests. */
import type { TLSSocket } from 'node:tls';
import { isLoopback } from '@gatepost/runtime/production';
import type { Request, RequestHandler } from 'express';
import { ApiError } from './errors.ts';

export const apiVersions = ['2026-03-10', '2022-11-28'];
const defaultVersion = '2022-11-28';

const exposed = [
  'ETag',
  'Link',
  'Location',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Used',
  'X-RateLimit-Resource',
  'X-RateLimit-Reset',
  'X-OAuth-Scopes',
  'X-Accepted-OAuth-Scopes',
  'X-Poll-Interval',
  'X-GitHub-Media-Type',
  'X-GitHub-Api-Version-Selected',
  'X-GitHub-Request-Id',
  'Deprecation',
  'Sunset',
].join(', ');

const always = Object.entries({
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposed,
  'Cache-Control': 'private, max-age=0, must-revalidate',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
  Vary: 'Accept, Authorization',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'deny',
  'X-GitHub-Media-Type': 'github.v3; format=json',
  'X-XSS-Protection': '0',
});

const preflight = {
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Unmodified-Since, Last-Event-ID, Accept, Accept-Encoding, X-GitHub-Api-Version, X-GitHub-OTP, X-Requested-With, User-Agent',
  'Access-Control-Allow-Methods': 'GET, POST, PATCH, PUT, DELETE',
  'Access-Control-Max-Age': '86400',
};

/**
 * Sets them, answers `OPTIONS`, and refuses unknown API versions. Under https, browsers are told to use nothing else (RFC 6797): when `ownUrl`,
 * where clients reach us, says so, or when a request came that way through a proxy. The rule covers all ports of a host: on a developer's
 * machine it would make everything unreachable over http, so it is not set there.
 */
export function makeStandingHeaders(ownUrl: string | undefined): RequestHandler {
  const own = ownUrl === undefined ? undefined : new URL(ownUrl);
  const isSecure = own?.protocol === 'https:' && !isLoopback(own.hostname);
  return (request, response, next) => {
    for (const [name, value] of always) response.setHeader(name, value);
    if (isSecure || isByProxy(request))
      response.set('Strict-Transport-Security', 'max-age=31536000; includeSubDomains');
    if (request.method === 'OPTIONS') return void response.set(preflight).status(204).end();
    const version = request.get('x-github-api-version') ?? defaultVersion;
    if (!apiVersions.includes(version))
      throw new ApiError(400, `"${version.slice(0, 40)}" is not a supported API version.`);
    response.setHeader('X-GitHub-Api-Version-Selected', version);
    next();
  };
}

const isByProxy = (request: Request) => request.secure && !(request.socket as TLSSocket).encrypted;
