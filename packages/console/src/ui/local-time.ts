/** Times in the form of `datetime-local`: in the reader's zone, to the minute. */
export const toLocal = (date: Date): string =>
  isoOf(new Date(date.getTime() - date.getTimezoneOffset() * 60_000))?.slice(0, 16) ?? '';

/** Undefined for an empty field, and for a year with more digits than there may be. */
export const toUtc = (local: string): string | undefined => isoOf(new Date(local));

/** The same time for a reader elsewhere. */
export function utcOf(local: string): string {
  const utc = toUtc(local);
  return utc === undefined ? '' : `${utc.slice(0, 16).replace('T', ' ')} UTC`;
}

/** The last time that has a year of four digits: browsers let people type six. */
export const latestLocal = '9999-12-31T23:59';

const isoOf = (date: Date): string | undefined => (Number.isNaN(date.getTime()) ? undefined : date.toISOString());
