/** The time in which the secret before the present one also signs. */
import type { HookRow } from './rows.ts';

/** Until when the previous secret signs; null: it does not, or no longer. */
export function overlapEnd(row: Pick<HookRow, 'previous_secret' | 'previous_secret_until'>): Date | null {
  const { previous_secret: secret, previous_secret_until: until } = row;
  return secret && until && until > new Date() ? until : null;
}
