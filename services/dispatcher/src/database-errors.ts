/** What PostgreSQL's error codes mean to us. */

/** A value that no retry will make storable (class 22, data exception; 23, constraint) as opposed to a database in trouble. */
export function isDataError(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && /^2[23]/.test(code) && !isMissingPartition(error);
}

/** No partition takes the row (23514, check_violation, is also what a missing partition raises). */
export function isMissingPartition(error: unknown): boolean {
  return codeOf(error) === '23514' && /no partition of relation/.test((error as Error).message);
}

function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
