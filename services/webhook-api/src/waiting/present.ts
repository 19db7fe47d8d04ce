/** A waiting delivery as clients see it. */
import { z } from 'zod';
import { seconds } from '../objects/time.ts';
import { readJob, reasons, type WaitingRow } from './rows.ts';

const time = z.iso.datetime();

export const reasonSchema = z.enum(reasons).meta({
  description:
    "`limit`: it waits for its account's limit; `retry`: it waits for its next attempt; `busy`: the maximum number of attempts to its receiver is in flight; `paused`: its organization or hook is paused; `handed_over`: RabbitMQ or a dispatcher has it",
});

export const waitingSchema = z
  .object({
    id: z.int().meta({ description: "The delivery's id, which it will also have in the log" }),
    reason: reasonSchema,
    guid: z.string().nullable(),
    event: z.string().nullable(),
    action: z.string().nullable(),
    hook_id: z.int().nullable(),
    attempt: z.int().nullable(),
    redelivery: z.boolean(),
    occurred_at: time.nullable(),
    throttled_at: time.nullable(),
    due_at: time.nullable().meta({ description: 'When it continues by itself; null: when its turn comes' }),
  })
  .meta({ id: 'WaitingDelivery' });

export function presentWaiting({ delivery_id, reason, due_at, published_at, job: text }: WaitingRow): object {
  const job = readJob(text);
  const isTimed = due_at instanceof Date && published_at === null;
  return {
    id: Number(delivery_id),
    reason,
    guid: job.guid ?? null,
    event: job.event ?? null,
    action: job.action ?? null,
    hook_id: job.hookId ?? null,
    attempt: job.attempt ?? null,
    redelivery: job.redelivery ?? false,
    occurred_at: shownTime(job.occurredAt),
    throttled_at: shownTime(job.throttledAt),
    due_at: isTimed ? seconds(due_at) : null,
  };
}

export const shownTime = (text: string | null | undefined) =>
  text && !Number.isNaN(Date.parse(text)) ? seconds(new Date(text)) : null;
