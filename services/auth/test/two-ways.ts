/** A token request on the fast path and on the common path, to compare. A query after the path keeps it off the fast path. */
import { request as httpRequest } from 'node:http';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { api, apis } from './seeds.ts';

export const secret = 'a secret/with=signs+and %';
export const plain = { client_id: 'machine', client_secret: 'machine-secret', grant_types: ['client_credentials'] };
const audiences = [api, 'urn:es', 'plain name'];
export const grants = audiences.map((audience) => ({
  audience,
  scope: audience === api ? ['read:x', 'write:x'] : ['read:x'],
}));
export const machines = {
  apis,
  clients: [
    { ...plain, client_grants: grants },
    { ...plain, client_id: 'signs', client_secret: secret, client_grants: grants },
    { ...plain, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic', client_grants: grants },
    { ...plain, client_id: 'foreign', is_first_party: false, client_grants: grants },
    { ...plain, client_id: 'counted', client_grants: grants },
    { ...plain, client_id: 'scopeless', client_grants: [{ audience: api, scope: [] }] },
    { ...plain, client_id: 'grantless' },
    { ...plain, client_id: 'web', grant_types: ['authorization_code'], callbacks: ['https://web.example/cb'] },
    {
      client_id: 'public',
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'none',
      client_grants: grants,
    },
  ],
};

export type Answered = {
  way: 'short' | 'common';
  status: number;
  headers: Record<string, string | string[] | undefined>;
  json: Record<string, unknown>;
};

/** @param pieces the body as it is written, each piece in a packet of its own */
export function askGate(
  asked: { issuer: string },
  body: string,
  headers: Record<string, string> = {},
  query = '',
  pieces = [body],
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const length = headers['transfer-encoding'] ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = { 'content-type': 'application/x-www-form-urlencoded', ...length, ...headers };
    const outgoing = httpRequest(
      new URL(`oauth/token${query}`, asked.issuer),
      { method: 'POST', headers: sent },
      async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        const isJson = response.headers['content-type']?.includes('json');
        resolve({
          // Nothing but the order of the headers tells them apart.
          way: response.rawHeaders[0] === 'Cache-Control' ? 'short' : 'common',
          status: response.statusCode!,
          headers: response.headers,
          json: isJson ? (JSON.parse(text) as Record<string, unknown>) : { text },
        });
      },
    );
    outgoing.once('error', reject);
    outgoing.setNoDelay(true);
    const write = (index: number) => {
      if (index === pieces.length) return void outgoing.end();
      outgoing.write(pieces[index]!, () => setImmediate(write, index + 1));
    };
    write(0);
  });
}

/** An answer without what differs from one token to the next. */
export function comparable({ status, headers, json }: Answered): unknown {
  const { date: _date, ...rest } = headers;
  const { access_token: token, ...more } = json;
  if (typeof token !== 'string') return { status, headers: rest, json };
  if (!token.includes('.')) return { status, headers: rest, more, opaque: token.length };
  const { jti, iat, exp, ...payload } = decodeJwt(token);
  const claims = { ...payload, jti: jti!.length, lifetime: exp! - iat! };
  return { status, headers: rest, more, claims, header: decodeProtectedHeader(token) };
}
