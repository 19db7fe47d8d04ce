/** The organization named in a site admin's route, regardless of membership. */
import type { Queryable } from '@gatepost/webhook-db/pool';
import { notFound } from '../http/errors.ts';

export type AdminAccount = {
  id: number;
  login: string;
  pausedAt: Date | null;
  throttleRate: number | null;
  throttleBurst: number | null;
};

/** @throws ApiError 404. */
export async function loadAccount(db: Queryable, login = ''): Promise<AdminAccount> {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(login)) throw notFound();
  const { rows } = await db.query<AdminAccount>({
    name: 'account of an administrator',
    text: `SELECT id, login, paused_at AS "pausedAt", throttle_rate AS "throttleRate", throttle_burst AS "throttleBurst" FROM accounts WHERE lower(login) = lower($1)`,
    values: [login],
  });
  if (!rows[0]) throw notFound();
  return rows[0];
}
