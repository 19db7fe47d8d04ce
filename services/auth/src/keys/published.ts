/**
 * Which keys are in the JWKS: those for RS256, as at Auth0; those for another algorithm while an API or client uses it, and until the
 * last token signed with it has expired. Some verifiers fail on keys of an unknown type, even if no token names them.
 */
import { setTimeout } from 'node:timers/promises';
import type { Pool } from '../database.ts';

/** Undefined: unknown, so all are published. */
export type PublishedAlgs = () => Promise<Set<string> | undefined>;

const patienceMs = 500;

/** Read each time, in one statement, so that no key is missing at the moment when its use ends and its former use begins. */
export function makePublishedAlgs(pool: Pool): PublishedAlgs {
  let last: Set<string> | undefined;
  const read = async () => {
    const { rows } = await pool.query<{ alg: string }>(`
      SELECT signing_alg AS alg FROM resource_servers
      UNION SELECT unnest(client_signing_algs(oidc_metadata)) FROM clients WHERE client_signing_algs(oidc_metadata) <> '{}'
      UNION SELECT alg FROM former_signing_algs WHERE until > now()`);
    last = new Set(['RS256', ...rows.map(({ alg }) => alg)]);
  };
  return async () => {
    // While PostgreSQL is away, the last known answer still applies.
    await Promise.race([read().catch(() => {}), setTimeout(patienceMs, undefined, { ref: false })]);
    return last;
  };
}
