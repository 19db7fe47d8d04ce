/** Changes one hook according to the rules, while nothing else changes in its repository or organization. */
import type { PlaceCall } from '../http/operation.ts';
import { hasListener } from '../listeners/rows.ts';
import { checkCliConfig } from './cli-config.ts';
import { type Config, checkSize } from './config.ts';
import { joinUrl } from './credentials.ts';
import { changeInPlace } from './lock.ts';
import { droppedHeaders } from './origin.ts';
import { overlapEnd } from './overlap.ts';
import { refuse } from './refuse.ts';
import { type HookRow, loadHook, lockHook, type PreviousSecret, updateRow } from './rows.ts';
import { checkRules } from './rules.ts';
import { openConfig, resealSecret, sealConfig } from './stored.ts';
import { checkUrl } from './url.ts';

export type Changeable = { config: Config; events: string[]; active: boolean };
/** `previousSecretUntil`: until then the secret before the change, or an earlier one, signs alongside the present one. */
export type Changes = Changeable & { previousSecretUntil?: Date | undefined };

/** A changed hook, and the custom headers that it lost by moving to another origin. */
export type Changed = { row: HookRow; dropped: string[] };

/** @returns the hook as it is now. @throws ApiError 404 when it does not exist, 422 when the change breaks a rule. */
export function changeHook(
  { parts, place, token, checkTime }: Pick<PlaceCall, 'parts' | 'place' | 'token' | 'checkTime'>,
  id: number,
  change: (before: Changeable) => Changes,
): Promise<Changed> {
  return changeInPlace({ parts, place, checkTime }, async (db) => {
    await lockHook(db, place, token, id);
    const row = await loadHook(db, place, token, id);
    const before = { config: openConfig(row, parts.seal), events: row.events, active: row.active };
    const after = change(before);
    if (joinUrl(after.config) !== joinUrl(before.config)) {
      if (row.name === 'cli') throw refuse('url', 'url of a cli webhook cannot be changed');
      checkUrl(after.config, parts.allowedNetworks);
    }
    if (row.name === 'cli' && after.active && !before.active && !(await hasListener(db, id)))
      throw refuse('active', 'A cli webhook is active only while its WebSocket, ws_url, is open');
    if (row.name === 'cli') checkCliConfig(after.config);
    if (after.config !== before.config) checkSize(after.config, before.config);
    await checkRules(db, place, { ...after.config, events: after.events, id, held: before.events }, parts.seal);
    const previous = previousSecret(row, before.config, after);
    const sealed = resealSecret(previous.previous_secret, parts.seal);
    await updateRow(db, id, { ...sealConfig(after.config, after, parts.seal), ...previous, previous_secret: sealed });
    return { row: await loadHook(db, place, token, id), dropped: droppedHeaders(before.config, after.config) };
  });
}

/**
 * Without a time, the previous secret becomes invalid as soon as there is a new one. One that has ended stays so, and is forgotten.
 * @throws ApiError 422.
 */
function previousSecret(row: HookRow, before: Config, { config, previousSecretUntil: until }: Changes): PreviousSecret {
  const isChanged = config.secret !== before.secret;
  const held = overlapEnd(row) ? row : none;
  const secret = isChanged ? row.secret : held.previous_secret;
  if (until && !secret) throw refuse('previous_secret_until', 'previous_secret_until needs a previous secret');
  const kept = until ? { previous_secret: secret, previous_secret_until: until } : isChanged ? none : held;
  const { previous_secret, previous_secret_until } = overlapEnd(kept) ? kept : none;
  return { previous_secret, previous_secret_until };
}

const none: PreviousSecret = { previous_secret: null, previous_secret_until: null };
