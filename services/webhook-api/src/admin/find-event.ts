/** `/admin/events/{guid}`: where an event is: in the queue, stored, waiting, delivered, failed, or among the dead letters. */
import { z } from 'zod';
import { deadLetterSchema } from '../dead-letters/letter.ts';
import { findQueued, queuedSchema } from '../explain/queued.ts';
import { findDeliveries, findEvents, firstDay, readTogether } from '../explain/rows.ts';
import { notFound } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { parseGuid } from '../http/path-ids.ts';
import { seconds } from '../objects/time.ts';
import { presentWaiting, waitingSchema } from '../waiting/present.ts';

const time = z.iso.datetime();

const foundSchema = z
  .object({
    guid: z.string(),
    queued: z.array(queuedSchema).meta({
      description:
        'Messages that wait to be routed, of an event that is not stored yet. Only the first 2,000 of each shard are looked at; messages that a dispatcher has already taken are not seen',
    }),
    events: z.array(
      z.object({
        organization: z.string().nullable(),
        repository: z.string().nullable(),
        source: z.string(),
        id: z.string(),
        event: z.string(),
        action: z.string().nullable(),
        occurred_at: time,
        received_at: time,
        routed_at: time.nullable().meta({ description: 'null: not all its deliveries have been handed over yet' }),
        unmatched: z.string().nullable().meta({ description: 'Why it went to no hook' }),
        hooks: z.array(z.int()),
      }),
    ),
    deliveries: z.array(
      z.object({
        id: z.int(),
        hook_id: z.int(),
        attempt: z.int(),
        redelivery: z.boolean(),
        delivered_at: time,
        status: z.string(),
        status_code: z.int(),
        error: z.string().nullable(),
        throttled_at: time.nullable(),
      }),
    ),
    waiting: z.array(waitingSchema),
    dead_letters: z.array(deadLetterSchema),
  })
  .meta({ id: 'FoundEvent' });

const shownMax = 100;

export const findEvent = tokenOperation({
  id: 'find-event',
  summary: 'Find an event by its guid, wherever it is',
  answers: { 200: { description: 'What was found about it', schema: foundSchema } },
  async run({ parts, params }) {
    const guid = parseGuid(params);
    const { events, attempts, waiting } = await readTogether(parts.pool, async (db) => {
      const events = await findEvents(db, { guid }, shownMax);
      const asked = { guid, ids: events.flatMap(({ delivery_ids }) => delivery_ids), eventOn: firstDay(events) };
      const eventKeys = events.map(({ key }) => key);
      return { events, ...(await findDeliveries(db, asked, eventKeys, { attempts: shownMax, waiting: shownMax })) };
    });
    const letters = (await parts.deadLetters.see()).filter(({ guids }) => guids.includes(guid));
    const queued = events.length === 0 ? await findQueued(parts, guid) : [];
    if (queued.length + events.length + attempts.length + letters.length === 0) throw notFound();
    return {
      status: 200,
      body: {
        guid,
        queued,
        events: events.map((event) => ({
          organization: event.login,
          repository: event.repository,
          source: event.source,
          id: event.event_id,
          event: event.type,
          action: event.action,
          occurred_at: seconds(event.occurred_at),
          received_at: seconds(event.received_at),
          routed_at: event.routed_at && seconds(event.routed_at),
          unmatched: event.unmatched,
          hooks: event.hook_ids,
        })),
        deliveries: attempts.map(({ id, hook_id, attempt, redelivery, status, status_code, error, ...at }) => ({
          id: Number(id),
          hook_id,
          attempt,
          redelivery,
          delivered_at: seconds(at.delivered_at),
          status,
          status_code,
          error,
          throttled_at: at.throttled_at && seconds(at.throttled_at),
        })),
        waiting: waiting.map(presentWaiting),
        dead_letters: letters.map(({ letter }) => letter),
      },
    };
  },
});
