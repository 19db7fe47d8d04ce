/** `GET …/deliveries/{delivery_id}/explain` and `GET …/hooks/{hook_id}/explain?guid=`: why a delivery arrived, or did not. */
import { z } from 'zod';
import { notFound } from '../http/errors.ts';
import { enteringOperation } from '../http/operation.ts';
import { guidForm, parseDeliveryId, parseHookId } from '../http/path-ids.ts';
import { explain } from './explain.ts';
import { gather } from './gather.ts';
import { findAskedHook, type HookSettings } from './hooks.ts';
import { type EventRow, findEvents } from './rows.ts';
import { explanationSchema } from './schema.ts';

const eventsMax = 100;

export const explainDelivery = enteringOperation({
  id: 'explain-webhook-delivery',
  summary: 'Explain where a delivery stands, and why',
  answers: {
    200: { description: 'Its state, since when, until when, and what has happened to it', schema: explanationSchema },
    422: { description: 'That is not the id of a delivery' },
  },
  async run({ parts, wanted, token, params }) {
    const id = parseDeliveryId(params);
    const log = { wanted, token, hookId: parseHookId(params) };
    const { hook, account, asked } = await findAskedHook(parts.reads, log, id);
    if (!asked) throw notFound();
    const { guid, eventKey, eventOn } = asked;
    const [known] = await gather(parts, {
      account,
      guid,
      findEvent: async (db) => (await findEvents(db, { key: eventKey, receivedOn: eventOn, account }, 1))[0],
      hooks: [hook],
      delivery: { id, eventKey, eventOn },
      isRelevant: ({ job }) => job?.hookId === hook.id,
    });
    return { status: 200, body: explain(known!) };
  },
});

export const explainAtHook = enteringOperation({
  id: 'explain-webhook-event',
  summary: 'Explain what happened to an event at a webhook',
  query: z.object({
    guid: z.string().regex(guidForm, 'is not a guid').meta({ description: "The event's guid", format: 'uuid' }),
  }),
  answers: {
    200: {
      description: 'The state of its delivery and what has happened to it, even if the event made none or never came',
      schema: explanationSchema,
    },
  },
  async run({ parts, wanted, token, params, query }) {
    const guid = query.guid.toLowerCase();
    const { hook, account } = await findAskedHook(parts.reads, { wanted, token, hookId: parseHookId(params) });
    const isVisible = ({ visibility }: EventRow) => !wanted.publicOnly || visibility === 'public';
    const place = [account.login, wanted.repository]
      .filter((name) => name !== undefined)
      .join('/')
      .toLowerCase();
    const [known] = await gather(parts, {
      account,
      guid,
      findEvent: async (db) =>
        chooseEvent((await findEvents(db, { guid, account }, eventsMax)).filter(isVisible), hook),
      hooks: [hook],
      isRelevant: ({ job, letter }) => (job ? job.hookId === hook.id : isIn(place, letter.subject)),
    });
    return { status: 200, body: explain(known!) };
  },
});

/** Of several events with one guid, picks the one that went to the hook, else the one of its place, else the newest. */
function chooseEvent(events: EventRow[], hook: HookSettings): EventRow | undefined {
  const isOfPlace = ({ repository_id }: EventRow) => !hook.isGone && hook.repositoryId === repository_id;
  return events.findLast(({ hook_ids }) => hook_ids.includes(hook.id)) ?? events.findLast(isOfPlace) ?? events.at(-1);
}

/** Whether an event with that subject belongs to the place: an organization's include those of its repositories. */
function isIn(place: string, subject: string | null): boolean {
  const asked = subject?.toLowerCase();
  return asked === place || (!place.includes('/') && asked?.startsWith(`${place}/`) === true);
}
