import type { StoredSession } from '../adapter/sessions.ts';
import { sessionLifetime } from '../clients/lifetimes.ts';

/** For `amr` values as first factors. */
const firstFactors: Record<string, string> = { otp: 'email', hwk: 'passkey', fed: 'federated' };

/**
 * How somebody signed in, by Auth0’s names: the first factor, and after a second one `mfa`
 * (https://auth0.com/docs/customize/actions/explore-triggers/signup-and-login-triggers/login-trigger/post-login-event-object).
 * The first factor is always the first value of `amr`; values without a name there are those of grant plug-ins.
 */
export function methodNames(amr: readonly string[] = []): string[] {
  const [first, ...others] = amr;
  if (first === undefined) return [];
  const name = firstFactors[first] ?? first;
  return amr.includes('mfa') ? [name, 'mfa'] : [name, ...others];
}

/** A session in Auth0's form, for its management API and for actions. */
export function presentSession(session: StoredSession): object {
  const { uid, accountId, iat, exp, loginTs, endsAt = Number.POSITIVE_INFINITY, amr, authorizations, device } = session;
  const at = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000).toISOString());
  const used = exp === undefined ? undefined : exp - sessionLifetime.idle;
  return {
    id: uid,
    user_id: accountId,
    // A session is stored just after its first sign-in.
    created_at: at(Math.min(iat ?? loginTs, loginTs)),
    updated_at: at(used),
    authenticated_at: at(loginTs),
    idle_expires_at: at(exp),
    expires_at: at(Math.min(loginTs + sessionLifetime.absolute, endsAt)),
    last_interacted_at: at(used),
    device: device && { ...device, initial_asn: null, last_asn: null },
    clients: Object.keys(authorizations ?? {}).map((client_id) => ({ client_id })),
    authentication: { methods: methodNames(amr).map((name) => ({ name, timestamp: at(loginTs) })) },
    cookie: { mode: 'persistent' },
    session_metadata: null,
  };
}
