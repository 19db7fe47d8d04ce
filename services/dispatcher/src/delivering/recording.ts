/** Writes outcomes into the delivery log, in batches; a job is acked once its row is committed. */
import { jobFields } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from '@gatepost/webhook-db/pool';
import { ensurePartitions, isMissingPartition } from '../partitions.ts';
import { makeBatches } from '../settling/batch.ts';
import { isGivenUp, type Persist } from '../settling/persist.ts';
import { ack, type Verdict } from '../settling/settle.ts';
import type { WorkCounts } from '../work-counts.ts';
import { type Ended, insertDeliveries } from './record.ts';

export type Recording = {
  /** Resolves when the outcome is recorded; rejects when PostgreSQL accepts it in no form. */
  record(ended: Ended): Promise<Verdict>;
  /** Resolves when no outcome of this delivery is being recorded any more. */
  settled(deliveryId: number): Promise<unknown> | undefined;
  isIdle(): boolean;
};

const batchMaxRows = 200;
/**
 * How long an outcome waits for others, so that they share a write to PostgreSQL's disk, and their acks one to RabbitMQ's. Events that come in
 * wait for the same disk.
 */
const lingerMs = 25;
/** How long a replay's outcome waits for a fresh one to be written with. */
const deferMaxMs = 100;
const batchMaxBytes = 4 * 1024 * 1024;

export function makeRecording(parts: { pool: Pool; persist: Persist; workCounts: WorkCounts; log: Log }): Recording {
  const { pool, persist, workCounts, log } = parts;
  const insert = async (ended: readonly Ended[]) => {
    try {
      await insertDeliveries(pool, ended);
    } catch (error) {
      if (!isMissingPartition(error)) throw error;
      await ensurePartitions(pool);
      await insertDeliveries(pool, ended);
    }
  };
  const batches = makeBatches<Ended, Verdict>({
    maxItems: batchMaxRows,
    maxBytes: batchMaxBytes,
    lingerMs,
    bytesOf: ({ attempt }) => 2_000 + (attempt.kind === 'response' ? attempt.body.length * 2 : 0),
    async work(some) {
      await persist('record deliveries', () => insert(some));
      workCounts.recorded += some.length;
      return some.map(() => ack('recorded'));
    },
  });
  const addOrDefer = makeDeferReplays(batches.add);
  const record = async (ended: Ended) => {
    try {
      return await addOrDefer(ended);
    } catch (error) {
      if (isGivenUp(error)) throw error;
      // The receiver's response contains something that PostgreSQL does not accept.
      log.error({ error, ...jobFields(ended.job) }, 'could not record a response, recording the outcome without it');
      return batches.add(withoutResponse(ended));
    }
  };
  const underWay = new Map<number, Promise<Verdict>>();
  return {
    async record(ended) {
      const { deliveryId } = ended.job;
      const recorded = record(ended);
      underWay.set(deliveryId, recorded);
      try {
        return await recorded;
      } finally {
        if (underWay.get(deliveryId) === recorded) underWay.delete(deliveryId);
      }
    },
    settled: (deliveryId) => underWay.get(deliveryId)?.catch(() => {}),
    isIdle: batches.isIdle,
  };
}

/**
 * Records a replay's outcomes along with the next fresh outcome, so that they cost no disk write of their own; if none comes for a
 * moment, they are recorded together.
 */
function makeDeferReplays(add: (ended: Ended) => Promise<Verdict>): (ended: Ended) => Promise<Verdict> {
  const deferred: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  const addDeferred = () => {
    clearTimeout(timer);
    for (const begin of deferred.splice(0)) begin();
  };
  return async (ended) => {
    if (ended.job.replayId === undefined) {
      const recorded = add(ended);
      addDeferred();
      return recorded;
    }
    if (deferred.length === 0) timer = setTimeout(addDeferred, deferMaxMs);
    await new Promise<void>((begin) => deferred.push(begin));
    return add(ended);
  };
}

function withoutResponse(ended: Ended): Ended {
  const { timings } = ended.attempt;
  return {
    ...ended,
    attempt: { kind: 'error', code: '', message: '', hadResponse: false, timings },
    outcome: ended.outcome.kind === 'delivered' ? ended.outcome : { ...ended.outcome, error: null },
  };
}
