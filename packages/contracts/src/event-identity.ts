/** What identifies an event: to the receivers of its deliveries, and in the log. */
import { parse, v5 as uuidv5 } from 'uuid';
import type { Event } from './event.ts';

/** The guid that all deliveries of an event share: its id if that is a UUID, else UUIDv5 of `source#id` in the URL namespace. */
export function eventGuid(event: Pick<Event, 'id' | 'source'>): string {
  return uuidForm.test(event.id) ? event.id.toLowerCase() : sourceAndId(event);
}

// Any version: producers number their events as they like.
const uuidForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * The identity of an event: its source, id and subject, as a UUID. Without the subject, the first publisher of a source and id could keep
 * everybody else's event from being delivered.
 */
export function eventKey({
  id,
  source,
  account,
  repository,
}: Pick<Event, 'id' | 'source' | 'account' | 'repository'>): string {
  // Neither a source nor a subject contains a space, so the texts of two events never coincide.
  return uuidOf(`${source} ${subjectOf({ account, repository })} ${id}`);
}

/** The key of versions that identified events by source and id alone; rows of the last day may have it. */
export function eventKeyBefore(event: Pick<Event, 'id' | 'source'>): string {
  return sourceAndId(event);
}

/** Where an event occurred, as stated by its producer, in lower case. */
export function subjectOf({ account, repository }: Pick<Event, 'account' | 'repository'>): string {
  return repository === null ? account : `${account}/${repository}`;
}

function sourceAndId({ id, source }: Pick<Event, 'id' | 'source'>): string {
  return uuidOf(`${source}#${id}`);
}

const urls = parse(uuidv5.URL);
/** A UUIDv5 in the URL namespace. Given text, the library would convert it to bytes itself, at twice the cost. */
const uuidOf = (name: string): string => uuidv5(Buffer.from(name), urls);
