/**
 * Refresh tokens that do not rotate: a use moves their expiry, since Auth0 counts the idle lifetime from the last use. The library
 * computes it only when it stores a token, and it stores such a token once.
 */
import type { Client, Provider } from 'oidc-provider';
import { hashId } from '../../adapter/hashed.ts';
import { extendRefreshToken } from '../../adapter/postgres.ts';
import { refreshLifetime } from '../../clients/lifetimes.ts';
import type { OwnMetadata } from '../../clients/metadata.ts';
import type { Pool } from '../../database.ts';
import { wrapGrant } from '../seam.ts';

/** Which part of its idle lifetime a token gains at least by a write: most refreshes write nothing. */
const worthwhile = 0.1;

/** Call it before the first request. A refused refresh moves nothing. */
export function extendUsedTokens(provider: Provider, pool: Pool): void {
  wrapGrant(provider, 'refresh_token', [], async (ctx, handle) => {
    await handle();
    const { RefreshToken: token, RotatedRefreshToken: rotated } = ctx.oidc.entities;
    if (!token || rotated) return;
    const { idle, absolute } = refreshLifetime(ctx.oidc.client as Client & OwnMetadata);
    const exp = Math.min(Math.floor(Date.now() / 1000) + idle, token.iiat! + absolute);
    if (exp - token.exp! > idle * worthwhile) await extendRefreshToken(pool, hashId(token.jti), exp);
  });
}
