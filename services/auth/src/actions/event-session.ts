/** `event.session` and `event.refresh_token`: this request's, in the form of `api/v2`. */
import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import { presentSession } from '../accounts/present-session.ts';
import { hashId } from '../adapter/hashed.ts';
import type { StoredSession } from '../adapter/sessions.ts';
import { refreshLifetime, rotates, sessionLifetime } from '../clients/lifetimes.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import { addressOf } from '../http/head.ts';
import { audienceOf } from '../resources/audience.ts';

/** A session that has just begun is stored only after the actions, so this reports what it will contain. */
export function sessionOf(ctx: KoaContextWithOIDC): object {
  // The typings leave out what a session keeps.
  const { uid, accountId, iat, exp, loginTs, endsAt, amr, authorizations, device } = ctx.oidc
    .session as unknown as StoredSession;
  const now = Math.floor(Date.now() / 1000);
  const [ip, agent] = [addressOf(ctx.req), (ctx.req.headers['user-agent'] ?? '').slice(0, 256)];
  const begun = device ?? { initial_ip: ip, initial_user_agent: agent };
  return presentSession({
    uid,
    accountId,
    iat: iat ?? now,
    exp: exp ?? now + sessionLifetime.idle,
    loginTs: loginTs ?? now,
    ...(endsAt !== undefined && { endsAt }),
    ...(amr && { amr }),
    ...(authorizations && { authorizations }),
    device: { ...begun, last_ip: ip, last_user_agent: agent } as NonNullable<StoredSession['device']>,
  } as StoredSession);
}

type Token = { jti: string; accountId: string; iat: number; iiat?: number; exp: number; rotations?: number } & {
  resource?: string | string[];
  scope?: string;
  sessionUid?: string;
};

export function refreshTokenOf(ctx: KoaContextWithOIDC): object | undefined {
  // As above.
  const token = ctx.oidc.entities.RefreshToken as unknown as Token | undefined;
  if (!token) return undefined;
  const client = ctx.oidc.client as Client & OwnMetadata;
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  const begun = token.iiat ?? token.iat;
  return {
    // The token's hash, never the token itself.
    id: hashId(token.jti),
    user_id: token.accountId,
    client_id: client.clientId,
    created_at: at(begun),
    idle_expires_at: at(token.exp),
    expires_at: at(begun + refreshLifetime(client).absolute),
    session_id: token.sessionUid ?? null,
    rotating: rotates({ refresh_token: client.refresh_token, isPublic: client.clientAuthMethod === 'none' }),
    resource_servers: [token.resource ?? []]
      .flat()
      .map((resource) => ({ audience: audienceOf(resource), scopes: token.scope ?? '' })),
    last_exchanged_at: token.rotations ? at(token.iat) : null,
  };
}
