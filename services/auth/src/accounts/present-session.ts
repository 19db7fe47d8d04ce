import type { StoredSession } from '../adapter/sessions.ts';
import { sessionLifetime } from '../clients/lifetimes.ts';

/** A session in Auth0's form, for its management API and for actions. */
export function presentSession(session: StoredSession): object {
  const { uid, accountId, iat, exp, loginTs, endsAt = Number.POSITIVE_INFINITY, amr, authorizations, device } = session;
  const at = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000).toISOString());
  // A code came by text message or mail (RFC 8176 calls both `otp`).
  const nameOf = (method: string) => (method !== 'otp' ? method : accountId.startsWith('sms|') ? 'sms' : 'email');
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
    authentication: { methods: (amr ?? []).map((name) => ({ name: nameOf(name), timestamp: at(loginTs) })) },
    cookie: { mode: 'persistent' },
    session_metadata: null,
  };
}
