/** Other providers' tokens, for connections that ask to keep them: sealed, one row per identity, deleted with it. */
import type { Seal } from '@gatepost/runtime/seal';
import type { Pool } from '../database.ts';
import type { Tokens } from './exchange.ts';

export type UpstreamTokens = {
  save(userId: string, tokens: Tokens): Promise<void>;
  /** By user_id; only for users who have any. */
  find(userIds: string[]): Promise<Map<string, Tokens>>;
};

const purposeOf = (userId: string) => `upstream tokens ${userId}`;

export function makeUpstreamTokens(pool: Pool, seal: Seal): UpstreamTokens {
  return {
    async save(userId, { id_token: _, ...tokens }) {
      await pool.query({
        name: 'upstream tokens keep',
        text: `INSERT INTO upstream_tokens (user_id, sealed) SELECT user_id, $2 FROM accounts WHERE user_id = $1
               ON CONFLICT (user_id) DO UPDATE SET sealed = excluded.sealed, updated_at = now()`,
        values: [userId, seal.seal(JSON.stringify(tokens), purposeOf(userId))],
      });
    },
    async find(userIds) {
      const { rows } = await pool.query<{ user_id: string; sealed: Buffer }>({
        name: 'upstream tokens',
        text: 'SELECT user_id, sealed FROM upstream_tokens WHERE user_id = ANY ($1)',
        values: [userIds],
      });
      return new Map(
        rows.map(({ user_id, sealed }) => [user_id, JSON.parse(seal.open(sealed, purposeOf(user_id))) as Tokens]),
      );
    },
  };
}

/** Seals them under the current key. @returns how many rows changed */
export async function resealUpstreamTokens(pool: Pool, seal: Seal): Promise<number> {
  let changed = 0;
  let after = '';
  for (;;) {
    const { rows } = await pool.query<{ user_id: string; sealed: Buffer }>(
      'SELECT user_id, sealed FROM upstream_tokens WHERE user_id > $1 ORDER BY user_id LIMIT 500',
      [after],
    );
    if (rows.length === 0) return changed;
    for (const { user_id, sealed } of rows) {
      const resealed = seal.reseal(sealed, purposeOf(user_id));
      if (!resealed) continue;
      const { rowCount } = await pool.query(
        'UPDATE upstream_tokens SET sealed = $2 WHERE user_id = $1 AND sealed = $3',
        [user_id, resealed, sealed],
      );
      changed += rowCount ?? 0;
    }
    after = rows.at(-1)!.user_id;
  }
}
