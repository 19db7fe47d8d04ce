/** What an explanation is made of: all that is known of one event and one hook. */
import { deliveryStatus } from '@gatepost/contracts/delivery';
import type { SeenLetter } from '../admin/seen-letters.ts';
import type { WaitingRow } from '../admin/waiting.ts';
import type { HookSettings } from './hooks.ts';
import type { AttemptRow, EventRow } from './rows.ts';

export type Known = {
  now: Date;
  account: { id: number; login: string };
  guid: string;
  /** Undefined: no such event is stored. */
  event: EventRow | undefined;
  hook: HookSettings;
  /** To this hook, the earliest first. */
  attempts: AttemptRow[];
  /** To this hook, in the order of their ids. */
  waiting: WaitingRow[];
  /** The delivery that was asked about. */
  asked: number | undefined;
  /** How many go before the one that waits for its account's limit, and how many of them go a second. */
  queue: { before: number; isCounted: boolean; rate: number } | undefined;
  letters: Letters;
  /** The first day of which events are kept. */
  keptSince: string | null;
  deliveryTimeoutMs: number;
};

/** Those that may be told of; undefined: they could not be looked through. */
export type Letters = SeenLetter[] | undefined;

/** The delivery's id that the event's row names for the hook. */
export function firstDeliveryId({ event, hook }: Pick<Known, 'event' | 'hook'>): number | undefined {
  const position = event?.hook_ids.indexOf(hook.id) ?? -1;
  return position < 0 ? undefined : Number(event!.delivery_ids[position]);
}

/** Where the event occurred, as it is called today, or else as its producer called it. */
export function placeOf(event: EventRow | undefined): string | null {
  if (!event) return null;
  if (event.login === null || (event.repository_id === null && event.subject !== null)) return event.subject;
  if (event.repository_id === null) return event.login;
  return event.repository === null ? null : `${event.login}/${event.repository}`;
}

/** Of those that wait, the one asked about, or else the newest. */
export const waitingOf = ({ waiting, asked }: Pick<Known, 'waiting' | 'asked'>): WaitingRow | undefined =>
  waiting.find(({ delivery_id }) => Number(delivery_id) === asked) ?? waiting.at(-1);

export const isDelivered = ({ status }: AttemptRow): boolean => status === deliveryStatus.ok;

export const endedAt = ({ delivered_at, duration_ms }: AttemptRow): Date =>
  new Date(delivered_at.getTime() + duration_ms);

/** The receiver's status, or what went wrong. */
export const resultOf = ({ status, status_code, error }: AttemptRow): string =>
  status === deliveryStatus.ok ? String(status_code) : `${status} (${error ?? status_code})`;
