/** Replays as clients see them. */
import { replayStatuses } from '@gatepost/webhook-db/replays';
import { z } from 'zod';
import { timeOf } from '../objects/time.ts';
import type { ReplayRow } from './rows.ts';

const time = z.iso.datetime();

export const replaySchema = z
  .object({
    id: z.int(),
    hook_id: z.int(),
    state: z.enum(['counting', 'running', 'done', 'stopped']),
    stopped_because: z
      .enum(['asked', 'hook_inactive'])
      .nullable()
      .meta({ description: 'Somebody asked for it, or the hook is no longer active' }),
    since: time,
    until: time,
    status: z.enum(replayStatuses),
    events: z.array(z.string()).nullable().meta({ description: 'null: all' }),
    total: z.int().nullable().meta({ description: 'How many deliveries it has; null: they are being counted' }),
    done: z.int().meta({ description: 'How many have their outcome' }),
    failed: z.int().meta({ description: 'How many of those failed' }),
    created_at: time,
    ended_at: time.nullable(),
    expected_end_at: time
      .nullable()
      .meta({ description: 'Estimated from its pace so far; null: it has ended, or nothing is known yet' }),
  })
  .meta({ id: 'Replay' });

export function presentReplay(row: ReplayRow, nowMs = Date.now()): z.infer<typeof replaySchema> {
  const { state, done, failed, counted, started_at: startedAt } = row;
  const expectedMs =
    state === 'running' && startedAt && done > 0
      ? nowMs + ((nowMs - startedAt.getTime()) / done) * Math.max(0, counted - done)
      : Number.NaN;
  return {
    id: Number(row.id),
    hook_id: row.hook_id,
    state,
    stopped_because: row.stopped_because,
    since: row.since.toISOString(),
    until: row.until.toISOString(),
    status: row.status,
    events: row.events,
    total: startedAt ? Math.max(counted, done) : null,
    done,
    failed,
    created_at: row.created_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    expected_end_at: timeOf(expectedMs)?.toISOString() ?? null,
  };
}
