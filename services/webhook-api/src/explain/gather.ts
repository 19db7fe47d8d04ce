/** Gathers the facts that explanations are made from. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Queryable } from '@gatepost/webhook-db/pool';
import { findPlace } from '@gatepost/webhook-db/waiting';
import type { SeenLetter } from '../dead-letters/dead-letters.ts';
import { firstDayKept } from '../deliveries/first-day.ts';
import type { Parts } from '../parts.ts';
import { readJob, type WaitingRow } from '../waiting/rows.ts';
import type { AskedAccount, HookSettings } from './hooks.ts';
import { firstDeliveryId, type Known, type Letters, waitingOf } from './known.ts';
import { type AttemptRow, type EventRow, findDeliveries, findEvents, findTest, readTogether } from './rows.ts';

const attemptsMax = 100;
const waitingMax = 1_000;
/** How many deliveries ahead are counted; beyond that the place is estimated. */
const countedMax = 1_000;

export type Asked = {
  account: AskedAccount;
  guid: string;
  findEvent(db: Queryable): Promise<EventRow | undefined>;
  hooks: HookSettings[];
  /** One delivery, and where its event's row is or was. */
  delivery?: { id: number; eventKey: string; eventOn: string };
  /** Which of the dead letters that may be disclosed are about this. */
  isRelevant: (seen: SeenLetter) => boolean;
};

/** Everything known about an event and each of some hooks. */
export async function gather(parts: Parts, asked: Asked): Promise<Known[]> {
  const { account, guid, hooks, delivery } = asked;
  const { event, attempts, waiting } = await readTogether(parts.pool, (db) => findRows(db, asked));
  const attemptsOf = Map.groupBy(attempts, ({ hook_id }) => hook_id);
  const waitingOfHook = groupWaiting(waiting, guid);
  const isSilent = (hook: HookSettings) => !attemptsOf.has(hook.id) && !waitingOfHook.has(hook.id);
  const mayBeDead = hooks.some((hook) => isSilent(hook) && (!event || isHandedOver(event, hook)));
  const [letters, keptSince] = await Promise.all([
    mayBeDead ? findLetters(parts, asked) : [],
    event ? null : firstDayKept(parts.reads),
  ]);
  return Promise.all(
    hooks.map(async (hook): Promise<Known> => {
      const known = {
        now: new Date(),
        account,
        guid,
        event,
        hook,
        attempts: attemptsOf.get(hook.id) ?? ([] as AttemptRow[]),
        waiting: waitingOfHook.get(hook.id) ?? [],
        asked: delivery?.id,
        queue: undefined,
        letters,
        keptSince,
        deliveryTimeoutMs: parts.deliveryTimeoutMs,
      };
      return { ...known, queue: await findQueue(parts, account, waitingOf(known)) };
    }),
  );
}

async function findRows(db: Queryable, { account, guid, findEvent, hooks, delivery }: Asked) {
  const named = await findEvent(db);
  // Only a hook's own page asks about a guid that may be a test's.
  const [only] = named?.guid === guid || hooks.length > 1 ? [] : hooks;
  const test = only && (await findTest(db, only.id, guid));
  const event =
    named ?? (test && (await findEvents(db, { key: test.event_key, receivedOn: test.event_on, account }, 1))[0]);
  const ids = [
    ...hooks.flatMap((hook) => firstDeliveryId({ event, hook, guid }) ?? []),
    ...(test === undefined ? [] : [test.id]),
    ...(delivery === undefined ? [] : [delivery.id]),
  ];
  const deliveries = await findDeliveries(
    db,
    {
      guid,
      ids,
      eventOn: event?.received_on ?? delivery?.eventOn ?? null,
      hookIds: hooks.map(({ id }) => id),
    },
    [event?.key ?? delivery?.eventKey ?? []].flat(),
    { attempts: attemptsMax * hooks.length, waiting: waitingMax },
  );
  return { event, ...deliveries };
}

/** By hook. A test has its event's key, but a guid of its own. */
function groupWaiting(rows: WaitingRow[], guid: string): Map<number | undefined, WaitingRow[]> {
  const jobs = rows.map((row) => ({ row, job: readJob(row.job) })).filter(({ job }) => job.guid === guid);
  return new Map(
    [...Map.groupBy(jobs, ({ job }) => job.hookId)].map(([hook, own]) => [hook, own.map(({ row }) => row)]),
  );
}

const isHandedOver = (event: EventRow, hook: HookSettings): boolean =>
  event.routed_at !== null && event.hook_ids.includes(hook.id);

async function findQueue(
  { reads, throttleDefaults }: Parts,
  { id: accountId, throttle_rate }: AskedAccount,
  row: WaitingRow | undefined,
): Promise<Known['queue']> {
  if (row?.reason !== 'limit') return undefined;
  const asked = { accountId, reason: row.parked_as, deliveryId: Number(row.delivery_id) };
  return { ...(await findPlace(reads, asked, countedMax)), rate: throttle_rate ?? throttleDefaults.rate };
}

/** Undefined when RabbitMQ is away or slow. */
export async function findLetters(
  parts: Parts,
  { guid, isRelevant }: Pick<Asked, 'guid' | 'isRelevant'>,
): Promise<Letters> {
  const seen = await Promise.race([
    parts.deadLetters.recent().catch(() => undefined),
    wait(parts.storeTimeoutMs / 2, undefined, { ref: false }),
  ]);
  return seen?.filter((one) => one.guids.includes(guid) && isRelevant(one));
}
