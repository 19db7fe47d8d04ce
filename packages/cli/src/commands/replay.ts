/** Delivers many again: failures, all, or what a hook has missed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, Run } from '../command.ts';
import { idOf, placeGiven, placeOf } from '../place.ts';
import { usage } from '../problem.ts';
import type { Json } from '../session/api.ts';
import { clean } from '../terminal.ts';
import { tolerateUnreachable } from '../tolerate.ts';

const replaysPath = (context: Context) =>
  `${placeOf(context).path}/hooks/${idOf(context.args.HOOK, 'HOOK')}/deliveries/replays`;

const lookEveryMs = 1_000;
const retryMs = 2_000;

export const replayDeliveries: Run = async (context) => {
  const { args, flags, out, json, session, signal } = context;
  const path = replaysPath(context);
  const since = flags.text('since');
  if (since === undefined) throw usage('since when?', '--since 2h, or a time such as 2026-11-22T10:00:00Z');
  const until = flags.text('until');
  const body = {
    since: timeOf(since, 'since'),
    ...(until !== undefined && { until: timeOf(until, 'until') }),
    ...(flags.text('status') && { status: flags.text('status') }),
    ...(flags.text('events') !== undefined && { events: flags.list('events') }),
  };
  const { api } = await session();
  let state: Json = await api.call('POST', path, body);
  const place = clean(placeGiven(context));
  const stop = `gatepost deliveries replay-stop ${args.HOOK} ${state.id}${place}`;
  if (flags.is('no-wait')) {
    if (json) return out.json(state);
    out.line(
      `Replay ${state.id} has begun. gatepost deliveries replays ${args.HOOK}${place} shows how far it is; ${stop} ends it.`,
    );
    return;
  }
  if (!json) out.note(`Replay ${state.id}; Ctrl-C leaves it running, ${stop} ends it.`);
  const tolerate = tolerateUnreachable(out);
  const look = async () => {
    state = await api.call('GET', `${path}/${state.id}`);
    return lookEveryMs;
  };
  for (let waitMs = lookEveryMs; state.ended_at === null; ) {
    await sleep(waitMs, undefined, { signal });
    waitMs = await look().catch((error) => Math.max(retryMs, tolerate(error)));
    const ends = state.expected_end_at ? `, until about ${clean(state.expected_end_at.slice(11, 19))}` : '';
    out.progress(`${clean(state.state)}${ends}`, state.total ?? 0).at(state.done);
  }
  out.progress('', 0).end();
  if (json) return out.json(state);
  out.line(describe(state));
};

const describe = ({ state, stopped_because, total, done, failed }: Json): string =>
  `${done} of ${total ?? '?'} delivered again${failed > 0 ? `, ${failed} of them in vain` : ''}${state === 'stopped' ? `; stopped (${clean(stopped_because ?? '')})` : ''}`;

/** A time, or an age: `90s`, `30m`, `2h`, `3d`. */
function timeOf(text: string, what: string, now = Date.now()): string {
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = { s: 1, m: 60, h: 3_600, d: 86_400 }[unit ?? ''];
  if (seconds !== undefined) return new Date(now - Number(number) * seconds * 1000).toISOString();
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)))
    return new Date(text).toISOString();
  throw usage(`--${what}: 90s, 30m, 2h or 3d ago, or a time with its zone such as 2026-11-22T10:00:00Z`);
}

export const listReplays: Run = async (context) => {
  const { out, json, session } = context;
  const path = replaysPath(context);
  const { api } = await session();
  const { items } = await api.list(path, 1_000);
  if (json) return out.json(items);
  out.table(
    ['REPLAY', 'STATE', 'WHAT', 'DONE', 'FAILED', 'OF', 'SINCE', 'UNTIL'],
    items.map((row) =>
      [row.id, row.state, row.status, row.done, row.failed, row.total ?? '?', row.since, row.until].map(String),
    ),
  );
};

export const stopReplay: Run = async (context) => {
  const { args, out, json, session } = context;
  const path = `${replaysPath(context)}/${idOf(args.REPLAY, 'REPLAY')}`;
  const { api } = await session();
  await api.call('DELETE', path);
  if (json) out.json({ stopped: Number(args.REPLAY) });
  else out.line('It is stopped; deliveries in flight still finish.');
};
