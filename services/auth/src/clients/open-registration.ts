/**
 * Open dynamic registration, Auth0's name for registration without an initial access token (RFC 7591 section 3). It is off until the tenant
 * sets its flag. Strangers can then fill a table (section 5): so there are limits to how many they register, how large, and how long a client
 * is kept that nobody has used.
 */
import type { IncomingMessage } from 'node:http';
import express, { type Router } from 'express';
import type { Provider } from 'oidc-provider';
import type { Rate } from '../accounts/rate.ts';
import type { SettingsModel } from '../generated/models.ts';
import { ApiError } from '../http/api-error.ts';
import { makePreflight } from '../http/cors.ts';
import { addressOf } from '../http/head.ts';
import { isInTheClear } from '../http/loopback.ts';
import { networkOf } from '../http/network.ts';
import { registerWithoutToken } from '../library/seam.ts';
import type { SettingsStore } from '../settings/store.ts';
import { markNative } from './registration.ts';

/** How long a client is kept without anybody having used it: somebody may finish a sign-in days after it began. */
const unusedMs = 7 * 24 * 3_600_000;

export const unusedUntil = (): Date => new Date(Date.now() + unusedMs);

/** The metadata as JSON. Those of real clients are a few hundred bytes, or a few thousand with keys. */
const bytesMax = 8_192;
const windowSeconds = 3_600;
/** In that time. An office's programs may register together, and so may a service's servers for their users. */
const perNetwork = 60;
/** For all networks together, so that a botnet fills no table either. It can then keep others from registering, but from nothing else. */
const altogether = 1_000;

/** Admits requests without a token to the library's endpoint. */
export function makeOpenRegistration(parts: { provider: Provider; settings: SettingsStore; rate: Rate }): Router {
  const { provider, settings, rate } = parts;
  const admitted = new WeakSet<IncomingMessage>();
  registerWithoutToken(provider, (request) => admitted.has(request));
  const router = express.Router({ strict: true, caseSensitive: true });
  router.options('/oidc/register', makePreflight('POST', 'authorization,content-type'));
  router.post('/oidc/register', async (request, response, next) => {
    markNative(request.body);
    if (!request.get('authorization') && isOpen(await settings.load())) {
      // Nobody's cookies or tokens are in it, and an application without a client yet has no origins of its own.
      response.set('access-control-allow-origin', '*');
      if (Buffer.byteLength(JSON.stringify(request.body ?? null)) > bytesMax)
        throw new ApiError(400, 'invalid_client_metadata', `the metadata must not be longer than ${bytesMax} bytes`);
      checkStranger(request.body);
      if (!(await rate.take('registrations', networkOf(addressOf(request)), perNetwork, windowSeconds)))
        throw new ApiError(429, 'too_many_requests', 'too many registrations from this address; try again later');
      if (!(await rate.take('registrations', 'everywhere', altogether, windowSeconds)))
        throw new ApiError(429, 'too_many_requests', 'too many registrations; try again later');
      admitted.add(request);
    }
    next();
  });
  return router;
}

/** `flags` of `tenants/settings`, in Auth0's words. */
function isOpen({ inert }: Pick<SettingsModel, 'inert'>): boolean {
  const { flags } = inert as { flags?: { enable_dynamic_client_registration?: boolean } };
  return flags?.enable_dynamic_client_registration === true;
}

/**
 * What only an administrator may allow, as by an initial access token: codes that cross a network in the clear (RFC 9700 section 2.6), and
 * further keys in the JWKS that everybody reads (keys/published.ts). @throws ApiError 400
 */
function checkStranger(given: Record<string, unknown> | null | undefined): void {
  const body = given ?? {};
  if ([body.redirect_uris].flat().some((uri) => isInTheClear(String(uri))))
    throw new ApiError(
      400,
      'invalid_redirect_uri',
      'redirect_uris must be https addresses, or of this machine or an app',
    );
  const alg = signingAlgs.find((name) => body[name] !== undefined && body[name] !== 'RS256');
  if (alg) throw new ApiError(400, 'invalid_client_metadata', `${alg} must be RS256 without an initial access token`);
}

const signingAlgs = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'authorization_signed_response_alg',
];
