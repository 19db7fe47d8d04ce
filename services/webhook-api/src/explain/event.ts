/** `GET /accounts/{login}/events/{guid}/explain`: what happened to an event at all hooks of its place, or why it went to none. */

import type { Queryable } from '@gatepost/webhook-db/pool';
import { loadAccount } from '../accounts/load.ts';
import type { SeenLetter } from '../dead-letters/dead-letters.ts';
import { firstDayKept } from '../deliveries/first-day.ts';
import { tokenOperation } from '../http/operation.ts';
import { parseGuid } from '../http/path-ids.ts';
import type { Parts } from '../parts.ts';
import { cause, causesOfEvent, causesOfNoEvent } from './causes.ts';
import { explain } from './explain.ts';
import { findLetters, gather } from './gather.ts';
import { type AskedAccount, findHooksOf } from './hooks.ts';
import { placeOf } from './known.ts';
import { findQueued } from './queued.ts';
import { type EventRow, findEvents } from './rows.ts';
import { type Cause, type EventExplanation, type Explanation, eventExplanationSchema } from './schema.ts';
import { stepsOfEvent } from './steps.ts';
import { type State, states } from './words.ts';

const eventsMax = 10;
const hooksMax = 100;

type ExplainedEvent = EventExplanation['events'][number];
type Summary = Pick<ExplainedEvent, 'state' | 'sentence' | 'next' | 'causes'>;

export const explainEvent = tokenOperation({
  id: 'explain-event',
  summary: 'Explain what happened to an event at the webhooks of its place',
  answers: {
    200: { description: 'Each delivery that it made, and why it made no others', schema: eventExplanationSchema },
  },
  async run({ parts, params }) {
    const guid = parseGuid(params);
    const account = await loadAccount(parts.reads, params.login);
    const asked = { id: account.id, login: account.login, throttle_rate: account.throttleRate };
    const login = account.login.toLowerCase();
    const isOurs = ({ job, letter: { subject } }: SeenLetter) =>
      job ? job.accountId === account.id : subject === null || subject.toLowerCase().split('/')[0] === login;
    const rows = await findEvents(parts.reads, { guid, account }, eventsMax);
    const events = await Promise.all(rows.map((row) => explainRow(parts, asked, row, isOurs)));
    const body =
      events.length > 0
        ? { guid, ...summarizeDeliveries(events), events, dead_letters: [] }
        : await explainUnstored(parts, account, guid, isOurs);
    return { status: 200, body };
  },
});

/** An event that is not stored: it waits to be taken, was refused, or is unknown. */
async function explainUnstored(
  parts: Parts,
  account: Pick<AskedAccount, 'id' | 'login'>,
  guid: string,
  isOurs: (seen: SeenLetter) => boolean,
): Promise<EventExplanation> {
  const isOfAccount = ({ subject }: { subject: string | null }) =>
    subject?.toLowerCase().split('/')[0] === account.login.toLowerCase();
  const [letters, queued] = await Promise.all([
    findLetters(parts, { guid, isRelevant: isOurs }),
    findQueued(parts, guid).catch(() => []), // RabbitMQ is away, which the search for letters reports
  ]);
  const [waiting] = queued.filter(isOfAccount);
  const summary = waiting
    ? summarizeQueued(waiting.queue)
    : neverMade(causesOfNoEvent({ letters, account, keptSince: await firstDayKept(parts.reads) }));
  return { guid, ...summary, events: [], dead_letters: (letters ?? []).map(({ letter }) => letter) };
}

const summarizeQueued = (queue: string): Summary => ({
  state: 'queued',
  sentence: `It waits in \`${queue}\` to be taken by a dispatcher.`,
  next: 'Nothing needs to be done, unless no dispatcher is running (GET /admin/status).',
  causes: [],
});

async function explainRow(
  parts: Parts,
  account: AskedAccount,
  event: EventRow,
  isRelevant: (seen: SeenLetter) => boolean,
): Promise<ExplainedEvent> {
  const hooks = await findHooksOf(parts.reads, { ...event, account_id: account.id }, hooksMax);
  const asked = { key: event.key, receivedOn: event.received_on, account };
  const findEvent = async (db: Queryable) => (await findEvents(db, asked, 1))[0];
  const known = await gather(parts, { account, guid: event.guid, findEvent, hooks, isRelevant });
  const deliveries = known.map(explain);
  return {
    source: event.source,
    id: event.event_id,
    event: event.type,
    action: event.action,
    place: placeOf(event),
    occurred_at: event.occurred_at.toISOString(),
    received_at: event.received_at.toISOString(),
    ...summarizeEvent(event, deliveries),
    steps: stepsOfEvent(event, `It is for ${event.hook_ids.length} hooks.`),
    deliveries,
  };
}

function summarizeEvent(event: EventRow, deliveries: Explanation[]): Summary {
  // A replay delivers it to hooks that it was not for.
  const made = deliveries.filter(({ hook_id, state }) => event.hook_ids.includes(hook_id) || state !== 'never_made');
  if (made.length > 0) return summarizeDeliveries(made);
  const none = cause(
    'no_hook',
    false,
    `There is no hook in \`${placeOf(event)}\`, nor one of its organization (judging by today's hooks).`,
    'Create one, and have the event published again under a new id.',
  );
  return neverMade(causesOfEvent(event) ?? (deliveries.length > 0 ? deliveries[0]!.causes : [none]));
}

const neverMade = (causes: Cause[]): Summary => ({
  state: 'never_made',
  sentence: `No delivery was made. ${causes[0]!.sentence}`,
  next: causes[0]!.next,
  causes,
});

/** The one to tell of several: pending before done, and failed before successful. */
function summarizeDeliveries(all: Summary[]): Summary {
  const order: State[] = [
    'queued',
    'paused',
    'throttled',
    'receiver_busy',
    'retry',
    'in_flight',
    'failed',
    'never_made',
    'delivered',
  ];
  const [first] = all.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const { state, next, causes } = first!;
  const counts = Object.keys(states).flatMap((word) => {
    const count = all.filter((one) => one.state === word).length;
    return count > 0 ? [`${count} ${word}`] : [];
  });
  const sentence = all.length === 1 ? first!.sentence : `Of ${all.length}: ${counts.join(', ')}. ${first!.sentence}`;
  return { state, sentence, next, causes };
}
