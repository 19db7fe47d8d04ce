/** Consent, remembered per person, client, API and scope, across sessions. OpenID’s own scopes are stored under the resource ''. */
import type { Pool } from '../database.ts';

/** Scopes by resource indicator. */
export type Consent = Record<string, string[]>;

export type ConsentStore = {
  find(userId: string, clientId: string): Promise<Consent>;
  /** Adds to the remembered consent. */
  add(userId: string, clientId: string, consent: Consent): Promise<void>;
};

export function makeConsentStore(pool: Pool): ConsentStore {
  return {
    async find(userId, clientId) {
      const { rows } = await pool.query<{ resource: string; scopes: string[] }>({
        name: 'consents find',
        text: 'SELECT resource, scopes FROM consents WHERE user_id = $1 AND client_id = $2',
        values: [userId, clientId],
      });
      return Object.fromEntries(rows.map(({ resource, scopes }) => [resource, scopes]));
    },
    async add(userId, clientId, consent) {
      const entries = Object.entries(consent);
      await pool.query({
        name: 'consents add',
        text: `INSERT INTO consents (user_id, client_id, resource, scopes)
                 SELECT $1, $2, resource, string_to_array(scopes, ' ') FROM unnest($3::text[], $4::text[]) AS given (resource, scopes)
                 ON CONFLICT (user_id, client_id, resource) DO UPDATE SET updated_at = now(),
                   scopes = ARRAY(SELECT DISTINCT unnest(consents.scopes || excluded.scopes) ORDER BY 1)`,
        values: [
          userId,
          clientId,
          entries.map(([resource]) => resource),
          entries.map(([, scopes]) => scopes.join(' ')),
        ],
      });
    },
  };
}
