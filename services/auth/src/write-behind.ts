/**
 * Collects rows that no request waits for and writes them together, so that recording a token or login costs no statement of its own.
 * They survive an outage of PostgreSQL up to a bound, and are written before the process ends.
 */

import { inHalves } from '@gatepost/runtime/halve';
import { describeError, type Log } from '@gatepost/runtime/log';
import { troubleOf } from '@gatepost/runtime/store-errors';

export type WriteBehind<Row> = AsyncDisposable & { add(row: Row): void };

const flushMs = 250;
const batchMax = 1_000;
/** How many rows wait while PostgreSQL is down; the oldest are dropped first. */
const waitingMax = 20_000;
/** Attempts for a batch that fails although no store is down; then the faulty row is found and dropped. */
const otherTriesMax = 5;

type WriteBehindParts<Row> = { write: (rows: Row[]) => Promise<unknown>; what: string; log: Log };

/**
 * @param write one statement; a rejected batch is written again later, without a row that is itself refused
 * @param what the rows' name in the log: `the audit log`
 */
export function openWriteBehind<Row>({ write, what, log }: WriteBehindParts<Row>): WriteBehind<Row> {
  let waiting: Row[] = [];
  let writing: Promise<void> | undefined;
  let dropped = 0;
  let others = 0;

  const writeBatch = async (batch: Row[]): Promise<void> => {
    const done = new Set<Row>();
    try {
      await inHalves(batch, {
        async work(some) {
          await write([...some]);
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
      waiting.push(row);
      if (waiting.length > waitingMax) {
        waiting.shift();
        dropped += 1;
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await writing;
      await writeAll().catch((error) => log.error({ error: describeError(error) }, `the end of ${what} is lost`));
    },
  };
}
