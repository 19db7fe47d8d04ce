/**
 * What the gate asks of others by itself. Keys come with a client (`jwks`), and nothing else is fetched from where a client or a
 * request points; only back-channel logout calls out.
 */
import type { Configuration } from 'oidc-provider';

type Fetch = NonNullable<Configuration['fetch']>;

/** @param issuer on a developer's machine (http) the applications to be told of a logout are there too */
export function makeOutsideFetch(issuer: string): Fetch {
  const isDevelopment = issuer.startsWith('http:');
  return (url, options) => {
    if (options?.method !== 'POST') return Promise.reject(new Error('nothing is fetched from where a client points'));
    // The library's dispatcher refuses connections to special-use addresses. Where it could not be made, nothing is sent.
    const { dispatcher, ...rest } = options as RequestInit & { dispatcher?: unknown };
    if (isDevelopment) return globalThis.fetch(url, { ...rest, redirect: 'manual' });
    if (!dispatcher) return Promise.reject(new Error('there is no guard for requests to outside'));
    return globalThis.fetch(url, { ...options, redirect: 'manual' });
  };
}
