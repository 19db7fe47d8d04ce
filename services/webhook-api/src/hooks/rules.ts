/**
 * How many hooks a place may hold, in all and for one event, and the rule against duplicates (docs/reference/webhooks-api.md#hooks). PostgreSQL
 * counts, and possible duplicates are examined in parts: a place filled before there was a limit is never loaded as a whole.
 */

import type { Seal } from '@gatepost/runtime/seal';
import type { Queryable } from '@gatepost/webhook-db/pool';
import type { Place } from '../access/place.ts';
import { type ErrorItem, validationFailed } from '../http/errors.ts';
import type { Config } from './config.ts';
import { countByEvent, countHooks, twinsInParts } from './rule-rows.ts';
import { isSameSecret } from './same-secret.ts';
import { openCredentials, openSecret } from './stored.ts';

const hooksMax = 250;
const hooksPerEventMax = 20;

/** The parts of a hook that the rules examine; an existing hook has an id, and in `held` the events it had before. */
export type Ruled = Pick<Config, 'url' | 'credentials' | 'contentType' | 'insecureSsl' | 'secret'> & {
  events: string[];
  id: number | null;
  held: string[];
};

/**
 * Checks that `hook` may exist beside the other hooks of its place, which do not change meanwhile (lock.ts). It is not refused what it already
 * held, nor any other change where there are too many hooks.
 * @throws ApiError 422 with an item for the place's limit, the duplicate, or each event over the limit.
 */
export async function checkRules(db: Queryable, place: Place, hook: Ruled, seal: Seal): Promise<void> {
  if (hook.id === null && (await countHooks(db, place, hooksMax)) >= hooksMax)
    throw validationFailed({ resource: 'Hook', code: 'custom', message: `Cannot have more than ${hooksMax} webhooks` });
  if (await hasTwin(db, place, hook, seal))
    throw validationFailed({
      resource: 'Hook',
      code: 'custom',
      message: `Hook already exists on this ${place.repository ? 'repository' : 'organization'}`,
    });
  const counts = await countByEvent(db, place, hook.id);
  const over = addedEvents(hook, counts).filter((event) => isFull(event, counts));
  // With 20 hooks for everything, each event is full: a single item says so.
  const named = over.includes('*') ? ['*'] : over;
  if (named.length > 0) throw validationFailed(...named.map(limitItem));
}

/** How many other hooks of the place name each event; hooks for all events count only under `*`. */
type Counts = ReadonlyMap<string, number>;

const limitItem = (event: string): ErrorItem => ({
  resource: 'Hook',
  code: 'custom',
  field: 'events',
  message: `Cannot have more than ${hooksPerEventMax} webhooks`,
  value: event,
});

/** The events that `hook` gains; for a `*`, every event that any hook here names, plus `*` for all the rest. */
function addedEvents({ events, held }: Ruled, counts: Counts): string[] {
  if (held.includes('*')) return [];
  const wanted = events.includes('*') ? new Set(['*', ...counts.keys()]) : events;
  return [...wanted].filter((event) => !held.includes(event));
}

function isFull(event: string, counts: Counts): boolean {
  const forAll = counts.get('*') ?? 0;
  return (event === '*' ? forAll : (counts.get(event) ?? 0) + forAll) >= hooksPerEventMax;
}

/** Whether another hook of the place has the same config and shares an event. */
async function hasTwin(db: Queryable, place: Place, hook: Ruled, seal: Seal): Promise<boolean> {
  for await (const twins of twinsInParts(db, place, hook))
    if (
      twins.some(
        (twin) =>
          isSameSecret(hook.secret, openSecret(twin.secret, seal)) &&
          isSameSecret(hook.credentials, openCredentials(twin.credentials, seal)),
      )
    )
      return true;
  return false;
}
