/**
 * Rows that nobody waits for, gathered for a moment and written together: what is noted of each token or login costs no statement
 * of its own. They outlive an outage of PostgreSQL up to a bound, and are written before the process ends.
 */
import { describeError, type Log } from '@gatepost/runtime/log';

export type WriteBehind<Row> = AsyncDisposable & { add(row: Row): void };

const flushMs = 250;
const batchMax = 1_000;
/** While PostgreSQL is away, so many wait; older ones go first. */
const waitingMax = 20_000;

/**
 * @param write one statement; a batch that it rejects is written again later
 * @param what the rows, for the log: `the audit log`
 */
export function openWriteBehind<Row>(parts: {
  write: (rows: Row[]) => Promise<unknown>;
  what: string;
  log: Log;
}): WriteBehind<Row> {
  const { write, what, log } = parts;
  let waiting: Row[] = [];
  let writing: Promise<void> | undefined;
  let dropped = 0;

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      const droppedBefore = dropped;
      await write(batch);
      // Rows dropped meanwhile were the first of this batch.
      waiting = waiting.slice(Math.max(0, batch.length - (dropped - droppedBefore)));
    }
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
