/** How jobs are settled that come to no attempt: cancelled, moved to the dead letters, or given back. */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Publisher } from '@gatepost/amqp/publisher';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { DeadReason } from '@gatepost/contracts/event';
import { inHalves } from '@gatepost/runtime/halve';
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from '@gatepost/webhook-db/pool';
import { publishDeadLetter } from '../dead-letter.ts';
import type { CancelReason, Metrics } from '../metrics.ts';
import { unpark } from '../parked/park.ts';
import { isGivenUp, type Persist } from '../persist.ts';
import { deadReasonOf } from '../trouble.ts';

export type SettleParts = { pool: Pool; publisher: Publisher; persist: Persist; metrics: Metrics; log: Log };

/** Runs `work` for a message; what fails for good buries the message, and nothing is thrown. */
export async function guarded<T>(parts: SettleParts, failing: Failing, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    await settleFailed(parts, failing, error);
    return undefined;
  }
}

type Failing = { message: Incoming; job?: DeliveryJob };

/**
 * Settles a message that could not be dealt with: given back, it would come again at once, and so for ever. What is parked in its
 * job's name goes, else that would come back.
 */
export async function settleFailed(parts: SettleParts, { message, job }: Failing, error: unknown): Promise<void> {
  if (message.isSettled()) return;
  try {
    if (isGivenUp(error)) return message.giveBack();
    parts.log.error({ error, 'message.id': message.messageId }, 'could not deliver a job');
    const { reason, detail } = deadReasonOf(error);
    await bury(parts, message, reason, detail);
    if (job?.parked) await parts.persist('forget a parked delivery', () => unpark(parts.pool, [job.deliveryId]));
  } catch (again) {
    if (!isGivenUp(again)) parts.log.error({ error: again }, 'could not bury a job, or what is parked in its name');
    if (!message.isSettled()) message.giveBack();
  }
}

/** Halves what is refused; when the process stops, what is not settled goes back. */
export async function workOff<T extends { message: Incoming }>(
  parts: SettleParts,
  batch: T[],
  how: { work: (some: readonly T[]) => Promise<void>; alone: (item: T, error: unknown) => Promise<void> },
): Promise<void> {
  try {
    await inHalves(batch, { ...how, isNobodysFault: isGivenUp });
  } catch (error) {
    if (!isGivenUp(error)) parts.log.error({ error }, 'could not settle a batch of jobs');
    for (const { message } of batch) if (!message.isSettled()) message.giveBack();
  }
}

export async function cancel(
  parts: SettleParts,
  message: Incoming,
  job: DeliveryJob,
  reason: CancelReason,
): Promise<undefined> {
  parts.metrics.deliveryCancelled(job, reason);
  return dismiss(parts, message, job);
}

/** Settles a job that is not to be made. */
export async function dismiss(parts: SettleParts, message: Incoming, job: DeliveryJob): Promise<undefined> {
  if (job.parked) await parts.persist('forget a parked delivery', () => unpark(parts.pool, [job.deliveryId]));
  message.ack();
}

/** Moves a message to the dead letters, with the reason. */
export async function bury(parts: SettleParts, message: Incoming, reason: DeadReason, detail: string): Promise<void> {
  await parts.persist('publish a dead letter', () => publishDeadLetter(parts.publisher, message, reason, detail));
  parts.metrics.eventDead(reason, detail, message.messageId);
  message.ack();
}
