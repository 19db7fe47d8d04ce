/**
 * Collects rows that no request waits for and writes them together, so that recording a token or login costs no statement of its own.
 * They survive an outage of PostgreSQL up to a bound, and are written before the process ends. They are numbered: a statement that was
 * abandoned, or whose answer was lost, may still be carried out after its rows were sent again, and then writes none of them.
 */
import { randomUUID } from 'node:crypto';
import { inHalves } from '@gatepost/runtime/halve';
import { describeError, type Log } from '@gatepost/runtime/log';
import { troubleOf } from '@gatepost/runtime/store-errors';

type Numbered<Row> = { number: number; row: Row };

export type WriteBehind<Row> = AsyncDisposable & {
  add(row: Row): void;
  /** Rows not known to be written; some of the newest batch may be. */
  waiting(): Row[];
};

const flushMs = 250;
const batchMax = 1_000;
/** How many rows wait while PostgreSQL is down; the oldest are dropped first. */
const waitingMax = 20_000;
/** Attempts for a batch that fails although no store is down; then the faulty row is found and dropped. */
const otherTriesMax = 5;

/** The rows' numbers, ascending, and who counts. */
export type RowNumbers = { writer: string; numbers: number[] };

/**
 * Begins the statement that writes numbered rows ($1: the writer, $2: the numbers). Only those above `mark.before` are still to be written.
 * Copies of a statement wait for each other here, and each sees what the one before it wrote.
 */
export const withMark = `WITH mark AS (
  INSERT INTO row_writers (writer, written, before) VALUES ($1, ($2::bigint[])[cardinality($2)], 0)
  ON CONFLICT (writer) DO UPDATE SET before = row_writers.written, written = greatest(row_writers.written, excluded.written), at = now()
  RETURNING before)`;

type WriteBehindParts<Row> = {
  write: (rows: Row[], numbers: RowNumbers) => Promise<unknown>;
  what: string;
  log: Log;
};

/**
 * @param write one statement; a rejected batch is written again later, without a row that is itself refused
 * @param what the rows' name in the log: `the audit log`
 */
export function openWriteBehind<Row>({ write, what, log }: WriteBehindParts<Row>): WriteBehind<Row> {
  const writer = randomUUID();
  let waiting: Numbered<Row>[] = [];
  let added = 0;
  let writing: Promise<void> | undefined;
  let dropped = 0;
  let others = 0;

  const writeBatch = async (batch: Numbered<Row>[]): Promise<void> => {
    const done = new Set<Numbered<Row>>();
    try {
      await inHalves(batch, {
        async work(some) {
          const numbers = some.map(({ number }) => number);
          await write(
            some.map(({ row }) => row),
            { writer, numbers },
          );
          for (const row of some) done.add(row);
        },
        async alone(row, error) {
          log.error({ error: describeError(error) }, `a row of ${what} was refused and is lost`);
          done.add(row);
        },
        isNobodysFault(error) {
          const trouble = troubleOf(error);
          if (trouble === 'other') others += 1;
          return trouble === 'away' || (trouble === 'other' && others < otherTriesMax);
        },
      });
      others = 0;
    } finally {
      waiting = waiting.filter((row) => !done.has(row)); // some may have been dropped meanwhile
    }
  };
  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) await writeBatch(waiting.slice(0, batchMax));
  };
  const flush = () => {
    if (writing || waiting.length === 0) return;
    writing = writeAll()
      .catch((error) => log.warn({ error: describeError(error), waiting: waiting.length, dropped }, `${what} waits`))
      .finally(() => {
        writing = undefined;
      });
  };
  const timer = setInterval(flush, flushMs);

  return {
    add(row) {
      added += 1;
      waiting.push({ number: added, row });
      if (waiting.length > waitingMax) {
        waiting.shift();
        dropped += 1;
      }
    },
    waiting: () => waiting.map(({ row }) => row),
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await writing;
      await writeAll().catch((error) => log.error({ error: describeError(error) }, `the end of ${what} is lost`));
    },
  };
}
