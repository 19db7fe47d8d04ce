/** The time asked about, and its steps. */
import { z } from 'zod';
import { validationFailed } from '../http/errors.ts';
import { time } from '../objects/time.ts';

export const resolutions = ['minute', 'hour', 'day'] as const;
export type Resolution = (typeof resolutions)[number];

/** From `since`, inclusive, to `until`, exclusive: whole steps of the resolution, in UTC. */
export type Range = { since: Date; until: Date; resolution: Resolution };

export const stepMs: Record<Resolution, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
/** The default number of steps: an hour, a day, a month. */
const usual: Record<Resolution, number> = { minute: 60, hour: 24, day: 30 };
const pointsMax = 1_500;

export const rangeQuery = z.object({
  since: time.optional().meta({
    description:
      'Starts with the minute, hour or day of this time; by default 60 minutes, 24 hours or 30 days up to `until`',
  }),
  until: time
    .optional()
    .meta({ description: 'Ends with the minute, hour or day of this time; by default, and at most, now' }),
  resolution: z
    .enum(resolutions)
    .default('minute')
    .meta({
      description: `How much time a point covers, in UTC; at most ${pointsMax.toLocaleString('en')} points are answered`,
    }),
});

/** @throws ApiError 422 for a time with no steps, or too many. */
export function readRange({ since, until, resolution }: z.infer<typeof rangeQuery>, now = new Date()): Range {
  const step = stepMs[resolution];
  const endMs =
    (Math.floor(Math.min(now.getTime(), until === undefined ? now.getTime() : Date.parse(until)) / step) + 1) * step;
  const beginMs =
    since === undefined ? endMs - usual[resolution] * step : Math.floor(new Date(since).getTime() / step) * step;
  if (beginMs >= endMs) throw refuse('since', 'since must be before until');
  if (endMs - beginMs > pointsMax * step)
    throw refuse(
      'resolution',
      `That is more than ${pointsMax} points: ask for a coarser resolution, or a shorter time`,
    );
  return { since: new Date(beginMs), until: new Date(endMs), resolution };
}

const refuse = (field: string, message: string) =>
  validationFailed({ resource: 'Statistics', code: 'unprocessable', field, message });
