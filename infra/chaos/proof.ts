/** Compares what the broker confirmed, what the receiver accepted and what the log says. */
import type { Api, LoggedDelivery } from '@gatepost/testkit/api';
import type { System } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import type { Place } from './accounts.ts';
import type { Struck } from './faults.ts';
import { type Fleet, lastWords } from './fleet.ts';
import type { PublishedEvents } from './load.ts';
import type { Record } from './record.ts';

export type Verdict = {
  struck: Struck[];
  events: number;
  publishedAgain: number;
  deliveries: number;
  refused: number;
  lost: number;
  duplicates: number;
  /** Copies of a delivery under a different guid. */
  otherGuids: number;
  /** Requests with a wrong body or signature, or that nobody published. */
  wrong: number;
  logged: number;
  /** Accepted deliveries that the log does not show as OK. */
  missingInLog: number;
  /** Attempts that the log shows as OK, or as answered with 503, beyond those that the receiver answered so. */
  inventedInLog: number;
  throttled: number;
  deaths: number;
  longestSilenceSeconds: number;
  drainSeconds: number;
  /** Why the run proves nothing; empty if it does. */
  complaints: string[];
};

export type Evidence = {
  published: PublishedEvents;
  record: Record;
  api: Api;
  places: Place[];
  fleet: Fleet;
  system: System;
  struck: Struck[];
  drainSeconds: number;
};

const logTimeoutMs = 120_000;

export async function judge(evidence: Evidence): Promise<Verdict> {
  const { published, record, struck, fleet } = evidence;
  const expected = new Set<string>();
  const byNumber = new Map(published.events.map((event) => [event.number, event]));
  for (const event of published.events) for (const hook of event.place.hooks) expected.add(`${hook.id} ${event.id}`);

  const accepted = new Set<string>();
  let duplicates = 0;
  let otherGuids = 0;
  let wrong = 0;
  for (const { hook, guid, number, body, signed } of record.accepted) {
    const event = byNumber.get(number);
    if (!signed || event?.body !== body || !event.place.hooks.some(({ id }) => id === hook)) wrong += 1;
    else if (guid !== event.id) otherGuids += 1;
    const key = `${hook} ${guid}`;
    if (accepted.has(key)) duplicates += 1;
    accepted.add(key);
  }
  const lost = [...expected].filter((key) => !accepted.has(key));

  // The last delivery's row is committed a moment after its response.
  const isComplete = (log: LoggedDelivery[], ok: Set<string>) =>
    log.length > 0 && [...expected].every((key) => !accepted.has(key) || ok.has(key));
  let log: LoggedDelivery[] = [];
  let logged: Logged = { ok: [], refused: [] };
  let ok = new Set<string>();
  await until(
    'the log',
    async () => {
      ({ log, logged } = await readLog(evidence));
      ok = new Set(logged.ok);
      return isComplete(log, ok);
    },
    logTimeoutMs,
  ).catch(() => {}); // counted below
  const missing = [...expected].filter((key) => accepted.has(key) && !ok.has(key));
  const invented = [
    ...beyond(
      record.accepted.map(({ hook, guid }) => `${hook} ${guid}`),
      logged.ok,
    ),
    ...beyond(record.refused, logged.refused),
  ];
  const deaths = [...fleet.deaths, ...(await endedServices(evidence.system))];

  const verdict = {
    struck,
    events: published.events.length,
    publishedAgain: published.again,
    deliveries: expected.size,
    refused: record.refused.length,
    lost: lost.length,
    duplicates,
    otherGuids,
    wrong,
    logged: log.length,
    missingInLog: missing.length,
    inventedInLog: invented.length,
    throttled: log.filter((delivery) => delivery.throttled_at !== null).length,
    deaths: deaths.length,
    longestSilenceSeconds: longestSilenceMs(record) / 1_000,
    drainSeconds: evidence.drainSeconds,
  };
  return { ...verdict, complaints: [...complain(verdict, lost, missing), ...deaths] };
}

function complain(verdict: Omit<Verdict, 'complaints'>, lost: string[], missing: string[]): string[] {
  const some = (keys: string[]) => keys.slice(0, 5).join(', ');
  return [
    ...(verdict.deliveries === 0 ? ['nothing was published'] : []),
    ...(verdict.lost > 0 ? [`${verdict.lost} lost (hook guid): ${some(lost)} …`] : []),
    ...(verdict.otherGuids > 0 ? [`${verdict.otherGuids} copies under another guid`] : []),
    ...(verdict.wrong > 0 ? [`${verdict.wrong} requests that are not what was published`] : []),
    ...(verdict.missingInLog > 0 ? [`${verdict.missingInLog} missing in the log (hook guid): ${some(missing)} …`] : []),
    ...(verdict.inventedInLog > 0 ? [`${verdict.inventedInLog} in the log that the receiver did not answer so`] : []),
    ...verdict.struck
      .filter(({ stood }) => stood > 0)
      .map(({ name, stood }) => `${stood} × nothing went on for a minute without ${name}`),
  ];
}

/** Attempts in the log that were answered with 2xx and with 503, each by hook and guid. */
type Logged = { ok: string[]; refused: string[] };

async function readLog({ api, places }: Evidence): Promise<{ log: LoggedDelivery[]; logged: Logged }> {
  const log: LoggedDelivery[] = [];
  const logged: Logged = { ok: [], refused: [] };
  for (const { id, path } of places.flatMap((place) => place.hooks)) {
    const entries = (await api.deliveries(id, path)).filter(({ event }) => event !== 'ping');
    for (const { status, status_code, guid } of entries) {
      if (status === 'OK') logged.ok.push(`${id} ${guid}`);
      else if (status_code === 503) logged.refused.push(`${id} ${guid}`);
    }
    log.push(...entries);
  }
  return { log, logged };
}

/** Of `keys`, those that occur more often than among `known`. */
function beyond(known: string[], keys: string[]): string[] {
  const left = new Map<string, number>();
  for (const key of known) left.set(key, (left.get(key) ?? 0) + 1);
  return keys.filter((key) => {
    const count = left.get(key) ?? 0;
    left.set(key, count - 1);
    return count <= 0;
  });
}

/** auth and webhook-api are never killed: they must survive the loss of any store. */
async function endedServices({ auth, webhookApi }: System): Promise<string[]> {
  const running = Symbol('running');
  const ended = await Promise.all(
    [auth, webhookApi].map(async (service) => {
      const code = await Promise.race([service.ended, Promise.resolve(running)]);
      return code === running ? [] : [`${service.name} ended with ${String(code)}:\n${lastWords(service)}`];
    }),
  );
  return ended.flat();
}

function longestSilenceMs({ accepted }: Record): number {
  let longest = 0;
  for (const [index, { at }] of accepted.entries())
    if (index > 0) longest = Math.max(longest, at - accepted[index - 1]!.at);
  return longest;
}

export function rowsOf(verdict: Verdict): [what: string, value: string][] {
  return [
    ...verdict.struck.map(({ name, times, downSeconds, stood }): [string, string] => [
      / (cut off|frozen)$/.test(name) ? name : `kills of ${name}`,
      `${times}, away ${downSeconds.toFixed(1)} s in all${stood > 0 ? `; ${stood} × nothing went on without it for a minute` : ''}`,
    ]),
    ['events confirmed by the broker', String(verdict.events)],
    ['  publish called again with the same id', String(verdict.publishedAgain)],
    ['deliveries that must follow', String(verdict.deliveries)],
    ['  lost', String(verdict.lost)],
    ['  delivered more than once, same guid', String(verdict.duplicates)],
    ['  delivered under another guid', String(verdict.otherGuids)],
    ['  wrong body or signature', String(verdict.wrong)],
    ['requests that the receiver answered with 503', String(verdict.refused)],
    ['rows in the log', String(verdict.logged)],
    ['  deliveries missing there / invented there', `${verdict.missingInLog} / ${verdict.inventedInLog}`],
    ['  throttled', String(verdict.throttled)],
    ['services that ended by themselves', String(verdict.deaths)],
    ['longest silence at the receiver', `${verdict.longestSilenceSeconds.toFixed(1)} s`],
    ['all through after the last event', `${verdict.drainSeconds.toFixed(1)} s`],
  ];
}
