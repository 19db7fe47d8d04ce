/** The basis of an explanation: everything known about one event and one hook. */
import { deliveryStatus } from '@gatepost/contracts/delivery';
import type { SeenLetter } from '../dead-letters/dead-letters.ts';
import type { WaitingRow } from '../waiting/rows.ts';
import type { HookSettings } from './hooks.ts';
import type { AttemptRow, EventRow } from './rows.ts';
import type { State } from './words.ts';

export type Known = {
  now: Date;
  account: { id: number; login: string };
  guid: string;
  /** Undefined: no such event is stored. */
  event: EventRow | undefined;
  hook: HookSettings;
  /** To this hook, earliest first. */
  attempts: AttemptRow[];
  /** To this hook, in id order. */
  waiting: WaitingRow[];
  /** The delivery that was asked about. */
  asked: number | undefined;
  /** For a delivery waiting for its account's limit: how many go before it, and how many go per second. */
  queue: { before: number; isCounted: boolean; rate: number } | undefined;
  letters: Letters;
  /** The first day whose events are stored. */
  keptSince: string | null;
  deliveryTimeoutMs: number;
};

/** The letters that may be disclosed; undefined: they could not be looked through. */
export type Letters = SeenLetter[] | undefined;

/** What a waiting delivery waits for. */
export const stateOfWaiting: Record<WaitingRow['reason'], State> = {
  limit: 'throttled',
  retry: 'retry',
  busy: 'receiver_busy',
  paused: 'paused',
  handed_over: 'in_flight',
};

/** Whether it is a test: it has the event of the latest push, and a guid of its own. */
export const isTest = ({ event, guid }: Pick<Known, 'event' | 'guid'>): boolean =>
  event !== undefined && event.guid !== guid;

/** The delivery id that the event's row names for the hook. */
export function firstDeliveryId(known: Pick<Known, 'event' | 'hook' | 'guid'>): number | undefined {
  const { event, hook } = known;
  if (isTest(known)) return undefined; // that is the push itself
  const position = event?.hook_ids.indexOf(hook.id) ?? -1;
  return position < 0 ? undefined : Number(event!.delivery_ids[position]);
}

/** The place where the event occurred, by its current name, or else the one its producer used. */
export function placeOf(event: EventRow | undefined): string | null {
  if (!event) return null;
  if (event.login === null || (event.repository_id === null && event.subject !== null)) return event.subject;
  if (event.repository_id === null) return event.login;
  return event.repository === null ? null : `${event.login}/${event.repository}`;
}

/** The waiting delivery that was asked about, or else the newest. */
export const waitingOf = ({ waiting, asked }: Pick<Known, 'waiting' | 'asked'>): WaitingRow | undefined =>
  waiting.find(({ delivery_id }) => Number(delivery_id) === asked) ?? waiting.at(-1);

export const isDelivered = ({ status }: AttemptRow): boolean => status === deliveryStatus.ok;

export const endedAt = ({ delivered_at, duration_ms }: AttemptRow): Date =>
  new Date(delivered_at.getTime() + duration_ms);

/** The receiver's status code, or what went wrong. */
export const resultOf = ({ status, status_code, error }: AttemptRow): string =>
  status === deliveryStatus.ok ? String(status_code) : `${status} (${error ?? status_code})`;
