/** Statistics as clients see them. */
import { bucketsMs } from '@gatepost/webhook-db/stats';
import { z } from 'zod';
import { throttleSchema } from '../accounts/throttle.ts';
import { ours } from '../http/operation.ts';
import { seconds } from '../objects/time.ts';
import { countedWaitingSchema } from '../waiting/count.ts';
import { quantileMs } from './quantile.ts';
import { type Range, resolutions, stepMs } from './range.ts';
import type { Counts } from './rows.ts';
import { successRate } from './success-rate.ts';

const time = z.iso.datetime();
const count = z.int();
const milliseconds = z
  .number()
  .nullable()
  .meta({
    description: `Derived from how many attempts took up to ${bucketsMs.map((ms) => ms.toLocaleString('en')).join(', ')} ms; null: none ended`,
  });

const countsSchema = {
  delivered: count.meta({ description: 'Attempts that were answered 2xx' }),
  failed: count.meta({ description: 'All other attempts' }),
  success_rate: z
    .number()
    .nullable()
    .meta({ description: 'Share of attempts that were delivered; null: there were none' }),
  p50_ms: milliseconds,
  p95_ms: milliseconds,
  throttled: count.meta({ description: "Attempts that waited for their account's limit" }),
  retried: count.meta({ description: 'Automatic attempts after the first' }),
  redelivered: count.meta({ description: 'Redeliveries that somebody asked for, one by one or by a replay' }),
  came_in: count.nullable().meta({ description: 'First deliveries of events; null for a hook' }),
};

export const statsSchema = z
  .object({
    since: time,
    until: time,
    resolution: z.enum(resolutions),
    total: z.object(countsSchema),
    points: z
      .array(
        z.object({
          at: time.meta({ description: 'When it begins' }),
          ...countsSchema,
          waiting: count.nullable().meta({
            description: 'The most that waited for the limit; null if it was not counted, and for a hook',
          }),
        }),
      )
      .meta({ description: 'For the whole time, even where nothing happened. Attempts count when they began' }),
    now: z.object({
      waiting: z.array(countedWaitingSchema),
      dead_letters: count.nullable().meta({ description: 'Only for the installation; null: RabbitMQ is away' }),
      dispatchers: count.nullable().meta({ description: 'Only for the installation: those that are alive' }),
      limit: z.object(throttleSchema.shape).nullable().meta({ description: 'Only for an account' }),
      expected_end_at: time.nullable().meta({
        description:
          'Only for an account: when nothing will wait for its limit any longer, at the pace of the last minutes; null: nothing does, or more comes in than goes out',
      }),
    }),
  })
  .meta({ id: 'Statistics', ...ours });

export type Standing = z.infer<typeof statsSchema>['now'];

const none: Counts = {
  delivered: 0,
  failed: 0,
  throttled: 0,
  retried: 0,
  redelivered: 0,
  cameIn: 0,
  waiting: null,
  buckets: [],
};

/** `counted`: the steps whose number of waiting deliveries is known; undefined: for a hook, where neither that nor the incoming number is. */
export function presentStats(
  range: Range,
  counts: Map<number, Counts>,
  counted: Set<number> | undefined,
  now: Standing,
): z.infer<typeof statsSchema> {
  const step = stepMs[range.resolution];
  const [first, end] = [range.since.getTime(), range.until.getTime()];
  const points = Array.from({ length: (end - first) / step }, (_, index) => {
    const at = first + index * step;
    const found = counts.get(at) ?? none;
    const waiting = found.waiting ?? (counted?.has(at) ? 0 : null);
    return { at: seconds(new Date(at)), ...presentCounts(found, counted !== undefined), waiting };
  });
  const total = presentCounts([...counts.values()].reduce(add, none), counted !== undefined);
  return { since: seconds(range.since), until: seconds(range.until), resolution: range.resolution, total, points, now };
}

const add = (a: Counts, b: Counts): Counts => ({
  delivered: a.delivered + b.delivered,
  failed: a.failed + b.failed,
  throttled: a.throttled + b.throttled,
  retried: a.retried + b.retried,
  redelivered: a.redelivered + b.redelivered,
  cameIn: a.cameIn + b.cameIn,
  waiting: null,
  buckets: b.buckets.map((bucket, index) => bucket + (a.buckets[index] ?? 0)),
});

function presentCounts({ delivered, failed, cameIn, buckets, ...counts }: Counts, hasIncoming: boolean) {
  const { throttled, retried, redelivered } = counts;
  return {
    delivered,
    failed,
    success_rate: successRate(delivered, failed),
    p50_ms: quantileMs(buckets, 0.5),
    p95_ms: quantileMs(buckets, 0.95),
    throttled,
    retried,
    redelivered,
    came_in: hasIncoming ? cameIn : null,
  };
}
