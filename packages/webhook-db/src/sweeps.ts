/** How far the dispatchers' rescue has looked for deliveries without an outcome. It looks at each event once. */

/**
 * SQL, for an event `e`: its first deliveries that are neither in the log nor parked were cancelled, and nobody will make them. An event tells
 * nothing once the log of its day is dropped.
 */
export const isSwept = (e: string): string =>
  `(${e}.received_at <= (SELECT swept_until FROM sweeps) AND to_regclass('deliveries_' || to_char(${e}.received_on, 'YYYYMMDD')) IS NOT NULL)`;
