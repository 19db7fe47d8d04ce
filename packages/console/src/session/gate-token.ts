/** The second audience: the refresh token of the single sign-in also gives a token for the gate's management API (RFC 8707). */
import type { UserManager } from 'oidc-client-ts';
import { endOf, SignedOut, Unreachable } from './errors.ts';

export type GateToken = { token: string; scopes: ReadonlySet<string> };

const earlyMs = 30_000;
/** How long a refused request is not repeated. */
const refusedMs = 600_000;

/** @param inTurn lets only one use the refresh token at a time */
export function openGateTokens(
  manager: UserManager,
  { issuer, client_id }: { issuer: string; client_id: string },
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
) {
  let known: { given: GateToken | undefined; until: number } | undefined;
  const isKnown = () => known !== undefined && Date.now() < known.until;

  async function ask(): Promise<GateToken | undefined> {
    if (isKnown()) return known!.given;
    const user = await manager.getUser();
    if (!user?.refresh_token) throw new SignedOut();
    const form = {
      grant_type: 'refresh_token',
      refresh_token: user.refresh_token,
      client_id,
      audience: `${issuer}api/v2/`,
    };
    const response = await fetch(`${issuer}oauth/token`, { method: 'POST', body: new URLSearchParams(form) }).catch(
      () => {
        throw new Unreachable('The gate is not responding.');
      },
    );
    const answer = await response.json().catch(() => ({}));
    if (response.ok && answer.access_token) {
      user.refresh_token = answer.refresh_token ?? user.refresh_token;
      await manager.storeUser(user);
      const given = { token: answer.access_token, scopes: new Set<string>((answer.scope ?? '').split(' ')) };
      known = { given, until: Date.now() + answer.expires_in * 1000 - earlyMs };
    } else if (answer.error === 'invalid_target' || answer.error === 'access_denied') {
      // The application may not ask for one, or only machines administer this gate.
      known = { given: undefined, until: Date.now() + refusedMs };
    } else {
      throw endOf(answer.error);
    }
    return known.given;
  }

  return {
    token: async () => (isKnown() ? known!.given : inTurn(ask)),
    forget() {
      known = undefined;
    },
  };
}
