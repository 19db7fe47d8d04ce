/** The log of a hook's deliveries. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, Run } from '../command.ts';
import { idOf, numberOf, placeGiven, placeOf } from '../place.ts';
import { Problem } from '../problem.ts';
import type { Api, Json } from '../session/api.ts';
import { clean, cleanLines, type Output, toJson } from '../terminal.ts';
import { tolerateUnreachable } from '../tolerate.ts';

const deliveriesPath = (context: Context) =>
  `${placeOf(context).path}/hooks/${idOf(context.args.HOOK, 'HOOK')}/deliveries`;

const limitMax = 10_000;

export const listDeliveries: Run = async (context) => {
  const { flags, out, json, session } = context;
  const path = deliveriesPath(context);
  const limit = numberOf(flags.text('limit'), 'limit', 30, limitMax);
  const after = flags.text('after-sequence');
  const query = new URLSearchParams({
    ...(flags.text('status') && { status: flags.text('status')! }),
    ...(after !== undefined && { after_sequence: idOf(after, '--after-sequence') }),
  });
  const { api } = await session();
  const { items, isMore } = await api.list(query.size > 0 ? `${path}?${query}` : path, limit);
  if (json) return out.json(items);
  if (items.length === 0)
    return out.note(
      query.size > 0
        ? 'There are no such deliveries.'
        : 'Nothing has been delivered there yet. gatepost hooks ping HOOK sends a ping.',
    );
  out.table(
    ['ID', 'SEQ', 'WHEN', 'EVENT', 'STATUS', 'CODE', 'MS', 'TRY', 'GUID'],
    items.map((item) => [
      String(item.id),
      String(item.sequence ?? '-'),
      item.delivered_at.slice(0, 19).replace('T', ' '),
      eventOf(item),
      item.status,
      String(item.status_code),
      String(Math.round(item.duration * 1000)),
      `${item.attempt}${item.redelivery ? ' again' : ''}`,
      item.guid,
    ]),
  );
  if (isMore) out.note(`There are more${howToSee(limit, after !== undefined && items.at(-1).sequence)}.`);
};

/** `sequence`: the last one shown, where they are shown in that order. */
function howToSee(limit: number, sequence: number | false): string {
  if (limit < limitMax)
    return `: --limit ${Math.min(limit * 2, limitMax)} shows ${sequence === false ? 'further back' : 'what follows'}`;
  // Some attempts under the last number may follow.
  return sequence === false ? ', further back' : `: --after-sequence ${sequence - 1} goes on from there`;
}

export const eventOf = ({ event, action }: Json): string => (action ? `${event}.${action}` : event);

export const showDelivery: Run = async (context) => {
  const { args, out, json, session } = context;
  const path = `${deliveriesPath(context)}/${idOf(args.DELIVERY, 'DELIVERY')}`;
  const { api } = await session();
  const item = await api.call('GET', path);
  if (json) return out.json(item);
  const heading = (text: string) => out.line(out.paint('bold', text));
  heading(`${clean(eventOf(item))} ${item.guid}`);
  out.line(`${verdict(out, item)}${item.error ? `: ${clean(item.error)}` : ''}`);
  out.line(
    `to ${clean(item.url)} at ${item.delivered_at}, ${timings(item)}; try ${item.attempt}${item.redelivery ? ', asked for again' : ''}`,
  );
  if (item.throttled_at) out.line(`waited for the limit since ${item.throttled_at}`);
  heading('\nRequest');
  writeHeaders(out, item.request.headers);
  out.line(
    item.request.payload === null
      ? '(the payload is kept no longer)'
      : cleanLines(JSON.stringify(item.request.payload, null, 2)),
  );
  heading('\nResponse');
  writeHeaders(out, item.response.headers);
  out.line(cleanLines(item.response.payload ?? ''));
};

export function verdict(out: Output, { status, status_code }: Json): string {
  return out.paint(status === 'OK' ? 'green' : 'red', clean(`${status} (${status_code})`));
}

function timings({ timings: ms, duration }: Json): string {
  const parts = ['dns', 'connect', 'tls', 'first_byte']
    .filter((name) => typeof ms?.[name] === 'number')
    .map((name) => `${name.replace('_', ' ')} ${ms[name]}`);
  return `${Math.round(duration * 1000)} ms${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`;
}

function writeHeaders(out: Output, headers: Record<string, string> | null): void {
  for (const [name, value] of Object.entries(headers ?? {}))
    out.line(`${out.paint('cyan', clean(name))}: ${clean(value)}`);
}

/** Shows deliveries as they are recorded; after a break also those that were recorded meanwhile. */
export const tailDeliveries: Run = async (context) => {
  const { args, flags, out, json, session, signal } = context;
  const path = deliveriesPath(context);
  const status = flags.text('status');
  const seconds = numberOf(flags.text('interval'), 'interval', 2, 3_600);
  const most = flags.text('count') === undefined ? Number.POSITIVE_INFINITY : numberOf(flags.text('count'), 'count', 1);
  const { api } = await session();
  const tail = openTail(api, path);
  let shown = 0;
  const isEnough = () => shown >= most;
  const take = (items: Json[]) => {
    for (const item of items) {
      if (isEnough() || (status !== undefined && status !== (item.status_code < 400 ? 'success' : 'failure'))) continue;
      shown += 1;
      if (json) out.line(toJson(item));
      else
        out.line(
          `${item.delivered_at}  ${clean(eventOf(item)).padEnd(24)}  ${item.guid}  ${verdict(out, item)}  ${Math.round(item.duration * 1000)} ms  ${item.id}`,
        );
    }
    return isEnough();
  };
  await tail.missed(); // skips what was there before
  if (!json) out.note('Waiting for deliveries; Ctrl-C ends it.');
  const tolerate = tolerateUnreachable(out);
  let waitMs = await tail.follow(take).then(() => 0, tolerate);
  const again = async () => {
    const { items, isMore } = await tail.missed();
    if (isMore) {
      const list = `gatepost deliveries list ${args.HOOK}${clean(placeGiven(context))}`;
      out.note(`Not all that was delivered meanwhile follows: ${list} shows it.`);
    }
    if (!take(items)) await tail.follow(take);
    return 0;
  };
  while (!isEnough()) {
    await sleep(Math.max(seconds * 1000, waitMs), undefined, { signal });
    waitMs = await again().catch(tolerate);
  }
};

/**
 * Remembers what was there, since neither ids nor times tell what is new: an id may be hours older than its attempt, and a slow attempt ends
 * after a later, faster one. The stream begins with the latest seconds, and so leaves no gap behind the list.
 */
function openTail(api: Api, path: string) {
  const seenMax = 10_000; // far more than a list, or what a stream begins with
  const seen = new Set<number>();
  let since: number | undefined;
  const timeOf = (item: Json) => Date.parse(item.delivered_at);
  const isNew = (item: Json) => !seen.has(item.id) && timeOf(item) > since!;
  const takeNew = (items: Json[]) => {
    const found = items.filter((item) => isNew(item) && seen.add(item.id));
    for (const id of seen) {
      if (seen.size <= seenMax) break;
      seen.delete(id);
    }
    return found;
  };
  return {
    /** What the list has that was not there before, oldest first, and whether there was more than it has. At first there is nothing. */
    async missed(): Promise<{ items: Json[]; isMore: boolean }> {
      // With a time the latest attempt comes first, otherwise the largest id.
      const { items, isMore } = await api.list(`${path}?since=1970-01-01T00:00:00Z`, 1_000);
      const oldest = isMore ? items.at(-1) : undefined;
      if (since === undefined) {
        // What is older than a full list was there before, too, though nobody has looked at it.
        since = oldest ? timeOf(oldest) : Number.NEGATIVE_INFINITY;
        takeNew(items);
      }
      const isCut = oldest !== undefined && isNew(oldest);
      return { items: takeNew(items.reverse()), isMore: isCut };
    },
    /** Those of the stream, until it ends or `take` has enough. */
    async follow(take: (items: Json[]) => boolean): Promise<void> {
      let rest = '';
      const onText = (text: string) => {
        const events = `${rest}${text}`.split('\n\n');
        rest = events.pop()!;
        return take(takeNew(events.flatMap(deliveryOf)));
      };
      await api.ask('GET', `${path}/stream`, undefined, { headers: { accept: 'text/event-stream' }, onText });
    },
  };
}

/** Of a server-sent event, if it is a delivery: it is on one line. */
function deliveryOf(event: string): Json[] {
  const lines = event.split('\n');
  const data = lines.find((line) => line.startsWith('data: '));
  return data !== undefined && lines.includes('event: delivery') ? [JSON.parse(data.slice('data: '.length))] : [];
}

/** What was sent already must be known when one is refused: sent again, it would arrive once more. */
export const redeliver: Run = async (context) => {
  const { args, rest, out, json, session } = context;
  const path = deliveriesPath(context);
  const ids = rest.map((id) => idOf(id, 'DELIVERY'));
  const { api } = await session();
  const bar = out.progress('redelivering', ids.length);
  const sent: string[] = [];
  const refused: { id: string; problem: Problem }[] = [];
  for (const [index, id] of ids.entries()) {
    try {
      await api.call('POST', `${path}/${id}/attempts`);
      sent.push(id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      refused.push({ id, problem: error });
      if (error.exit !== 'refused' && error.exit !== 'notFound') break; // the others would fare no better
    }
    bar.at(index + 1);
  }
  bar.end();
  const [first] = refused;
  if (first && sent.length === 0) throw first.problem;
  const place = clean(placeGiven(context));
  if (json)
    out.json({
      redelivered: sent.map(Number),
      ...(first && { refused: refused.map(({ id, problem }) => ({ delivery: Number(id), error: problem.message })) }),
    });
  else
    out.line(
      `${sent.length === 1 ? 'One is' : `${sent.length} are`} on the way again, with the same guid: gatepost deliveries tail ${args.HOOK}${place}`,
    );
  if (!first) return;
  for (const { id, problem } of refused) out.note(`${id}: ${clean(problem.message)}`);
  const left = [...refused.map(({ id }) => id), ...ids.slice(sent.length + refused.length)];
  throw new Problem(
    'failed',
    `${left.length} of ${ids.length} are not known to be on their way`,
    ...refused.at(-1)!.problem.next,
    `Only these: gatepost deliveries redeliver ${args.HOOK} ${left.join(' ')}${place}`,
  );
};
