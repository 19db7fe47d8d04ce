/** Runs a search, whose condition anybody with the scope may write, however much data it has to scan. */
import type { Pool, Prisma } from '../database.ts';
import { ManagementProblem } from './problem.ts';

/** @throws ManagementProblem 503 when it takes longer than the pool allows */
export type RunSearch = <Row extends object>(statement: Prisma.Sql) => Promise<Row[]>;

const queryCanceled = '57014';

/** @param pool few read-only connections with a time limit per statement (database.ts) */
export function makeRunSearch(pool: Pool): RunSearch {
  return async <Row extends object>({ text, values }: Prisma.Sql) => {
    try {
      return (await pool.query<Row>(text, values)).rows;
    } catch (error) {
      // The pool reports the store as unavailable, with this as the cause (database.ts).
      if (((error as Error).cause as { code?: unknown } | undefined)?.code !== queryCanceled) throw error;
      throw new ManagementProblem(
        503,
        'query_timed_out',
        'The query exceeded the timeout. Please try refining your search criteria',
        { cause: error },
      );
    }
  };
}
