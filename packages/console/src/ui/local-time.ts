/** Times in the form of `datetime-local`: in the reader's zone, to the minute. */
export function toLocal(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export const toUtc = (local: string): string => new Date(local).toISOString();

/** The same time for a reader elsewhere. */
export const utcOf = (local: string): string =>
  local === '' ? '' : `${toUtc(local).slice(0, 16).replace('T', ' ')} UTC`;
