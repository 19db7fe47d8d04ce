/** SQL: deliveries by their keys, and those looked for among a hook's latest, where no index has them. */

/** The rows of these keys, in the same order. */
export const rowsOf = (keys: string): string => `
  SELECT d.* FROM ${keys} k CROSS JOIN LATERAL (SELECT * FROM deliveries d WHERE d.id = k.id AND d.delivered_on = k.delivered_on) d
   ORDER BY d.delivered_at DESC, d.id DESC`;

const latestMax = 5_000;

/** The first attempt at a hook of a guid that names no event, as a test's, if it is among the hook's latest deliveries. */
export const firstAttemptOf = (guid: string, hook: string): string => `
  SELECT * FROM (${rowsOf(`deliveries_by_time(${hook}, 'infinity', 0, '-infinity', NULL, NULL, NULL, NULL, ${latestMax}, ${latestMax})`)}) d
   WHERE d.guid = ${guid} AND d.attempt = 1 AND NOT d.redelivery`;
