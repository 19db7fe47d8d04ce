import { z } from 'zod';

/** GitHub's times have no fractional seconds. */
export const seconds = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');

/** An estimated time, in milliseconds; null for none, and for one beyond the year 9999, which ISO 8601 writes in another form. */
export function timeOf(ms: number): Date | null {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) || time.getUTCFullYear() > 9999 ? null : time;
}

/** A time in a request. */
export const time = z.iso.datetime({ offset: true, error: 'is not a time in ISO 8601, such as 2026-11-22T10:00:00Z' });
