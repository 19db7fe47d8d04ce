/** The limit of 20 hooks an event and the rule against duplicates (contract section 5; GH section A.3), as pure rules. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type ErrorItem, validationFailed } from '../http/errors.ts';

export const hooksPerEventMax = 20;

/** What of a hook the rules look at. */
export type Ruled = { events: string[]; url: string; contentType: string; insecureSsl: boolean; secret: string | null };

/**
 * Checks that `hook` may stand beside `others`, the rest of its place's hooks. `before` is what the hook was: what it
 * already held is not refused to it.
 * @throws ApiError 422 with an item for each event over the limit, or for the duplicate.
 */
export function checkRules(hook: Ruled, before: Ruled | undefined, others: Ruled[], placeName: string): void {
  const duplicate = others.some((other) => isSameConfig(hook, other) && overlap(hook.events, other.events));
  if (duplicate)
    throw validationFailed({
      resource: 'Hook',
      code: 'custom',
      message: `Hook already exists on this ${placeName}`,
    });
  const over = addedEvents(hook, before, others).filter((event) => isFull(event, others));
  // With 20 hooks for everything, each event is full: one item says it.
  const named = over.includes('*') ? ['*'] : over;
  if (named.length > 0) throw validationFailed(...named.map(limitItem));
}

const limitItem = (event: string): ErrorItem => ({
  resource: 'Hook',
  code: 'custom',
  field: 'events',
  message: `Cannot have more than ${hooksPerEventMax} webhooks`,
  value: event,
});

/** The events that `hook` gains; for a `*` every event that any hook here names, and `*` for all the rest. */
function addedEvents(hook: Ruled, before: Ruled | undefined, others: Ruled[]): string[] {
  const held = new Set(before?.events);
  if (held.has('*')) return [];
  const wanted = hook.events.includes('*') ? new Set(['*', ...others.flatMap((other) => other.events)]) : hook.events;
  return [...wanted].filter((event) => !held.has(event));
}

function isFull(event: string, others: Ruled[]): boolean {
  const count = others.filter((other) => other.events.includes(event) || other.events.includes('*')).length;
  return count >= hooksPerEventMax;
}

function overlap(some: string[], others: string[]): boolean {
  if (some.length === 0 || others.length === 0) return false;
  return some.includes('*') || others.includes('*') || some.some((event) => others.includes(event));
}

function isSameConfig(one: Ruled, other: Ruled): boolean {
  return (
    one.url === other.url &&
    one.contentType === other.contentType &&
    one.insecureSsl === other.insecureSsl &&
    isSameSecret(one.secret, other.secret)
  );
}

function isSameSecret(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
