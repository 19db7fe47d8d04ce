import { z } from 'zod';

/** GitHub's times have no fractional seconds. */
export const seconds = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');

/** A time in a request. */
export const time = z.iso.datetime({ offset: true, error: 'is not a time in ISO 8601, such as 2026-11-22T10:00:00Z' });
