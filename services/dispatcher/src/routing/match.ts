/** Which hooks an event goes to (docs/reference/events.md). Pure. */
import type { Event } from '@gatepost/contracts/event';
import type { Account } from '../accounts.ts';
import type { Subscription } from '../hook.ts';

/** When more tags than this are pushed at once, nothing is triggered. */
const tagsMax = 3;
const tagEvents = new Set(['push', 'create', 'delete']);

export const unmatchedReasons = ['unknown_account', 'unknown_repository', 'no_hook'] as const;
export type UnmatchedReason = (typeof unmatchedReasons)[number];

export type Match =
  | { kind: 'matched'; repositoryId: number | null; hooks: Subscription[] }
  | { kind: 'unmatched'; repositoryId: number | null; reason: UnmatchedReason }
  | { kind: 'too_many_tags'; repositoryId: number | null };

/**
 * The deliverable hooks of the event's repository and organization that subscribe to its type or to `*`. An organization-level event goes to
 * the organization's hooks only. An unknown repository belongs to nobody.
 */
export function match(event: Event, account: Account | undefined): Match {
  const repositoryId = event.repository === null ? null : (account?.repositories.get(event.repository) ?? null);
  if (tagEvents.has(event.type) && (event.tagsPushed ?? 0) > tagsMax) return { kind: 'too_many_tags', repositoryId };
  if (!account) return { kind: 'unmatched', repositoryId, reason: 'unknown_account' };
  if (event.repository !== null && repositoryId === null)
    return { kind: 'unmatched', repositoryId, reason: 'unknown_repository' };
  const hooks = [...account.hooks.values()].filter(
    (hook) =>
      hook.deliverable &&
      (hook.repositoryId === null || hook.repositoryId === repositoryId) &&
      (hook.events.has('*') || hook.events.has(event.type)),
  );
  return hooks.length > 0
    ? { kind: 'matched', repositoryId, hooks }
    : { kind: 'unmatched', repositoryId, reason: 'no_hook' };
}
