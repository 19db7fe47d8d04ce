/** Writes outcomes into the delivery log, in batches; a job is acked once its row is committed. */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Moved } from '../moved.ts';
import { ensurePartitions, isMissingPartition } from '../partitions.ts';
import { type Ended, insertDeliveries } from './record.ts';
import { type SettleParts, settleFailed, workOff } from './settle.ts';

export type RecordingParts = SettleParts & { moved: Moved };

export type Settling = { ended: Ended; message: Incoming };

/** Records a batch of outcomes, then acks their jobs. */
export async function settle(parts: RecordingParts, batch: Settling[]): Promise<void> {
  await workOff(parts, batch, {
    async work(some) {
      await record(
        parts,
        some.map(({ ended }) => ended),
      );
      for (const { message } of some) message.ack();
      parts.moved.recorded += some.length;
    },
    alone: (settling, error) => settleUnstorable(parts, settling, error),
  });
}

async function record(parts: RecordingParts, ended: Ended[]): Promise<void> {
  await parts.persist('record deliveries', async () => {
    try {
      await insertDeliveries(parts.pool, ended);
    } catch (error) {
      if (!isMissingPartition(error)) throw error;
      await ensurePartitions(parts.pool);
      await insertDeliveries(parts.pool, ended);
    }
  });
}

/** A receiver answered with something PostgreSQL does not take: the outcome is recorded without its words. */
async function settleUnstorable(parts: RecordingParts, { ended, message }: Settling, error: unknown): Promise<void> {
  parts.log.error({ 'delivery.id': ended.job.deliveryId, error }, 'could not record a response, recording it without');
  const { timings } = ended.attempt;
  const bare: Ended = {
    ...ended,
    attempt: { kind: 'error', code: '', message: '', hadResponse: false, timings },
    outcome: ended.outcome.kind === 'delivered' ? ended.outcome : { ...ended.outcome, error: null },
  };
  try {
    await record(parts, [bare]);
    message.ack();
  } catch (again) {
    await settleFailed(parts, { message, job: ended.job }, again);
  }
}
