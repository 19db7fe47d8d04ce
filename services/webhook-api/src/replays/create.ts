/** `POST …/deliveries/replays`: repeats many of a hook's deliveries in the background (docs/reference/delivery.md#replays). */
import { replayStatuses } from '@gatepost/webhook-db/replays';
import { z } from 'zod';
import { firstDayKept } from '../deliveries/first-day.ts';
import { readEvents } from '../hooks/events.ts';
import { loadHook } from '../hooks/rows.ts';
import { ApiError, validationFailed } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { time } from '../objects/time.ts';
import { presentReplay, replaySchema } from './present.ts';
import { beginReplay, runningMax } from './rows.ts';

const body = z
  .object({
    since: time.meta({
      description:
        'Deliveries whose first attempt was made from this time on; with `missed`, events received from this time on',
    }),
    until: time.nullish().meta({ description: 'Up to this time; by default, and at most, now' }),
    status: z.enum(replayStatuses).default('failure').meta({
      description:
        "`failure`: what was never delivered successfully; `all`; `missed`: events of the hook's place that match its subscription and made no delivery to it, or one that was cancelled while the hook was not active",
    }),
    events: z
      .array(z.string())
      .min(1, 'is empty')
      .max(250, 'has more than 250 items')
      .nullish()
      .meta({ description: 'Only events of these types' }),
  })
  .meta({ id: 'ReplayRequest' });

export const createReplay = placeOperation({
  id: 'replay-webhook-deliveries',
  summary: 'Replay deliveries',
  body,
  answers: {
    202: { description: 'It has begun, or the same replay is already running', schema: replaySchema },
    409: { description: 'Another replay of this hook is running' },
    422: { description: 'The hook is not active, or what is asked for is no longer kept' },
  },
  async run({ parts, place, token, params, body, checkTime }) {
    const { pool } = parts;
    const hook = await loadHook(pool, place, token, parseHookId(params));
    const events = body.events ? readEvents(body.events, parts.catalog, hook.events).sort() : null;
    const since = new Date(body.since);
    const until = body.until ? new Date(body.until) : undefined;
    const now = new Date();
    if (since >= (until && until < now ? until : now)) throw refuse('until', 'until must be later than since');
    const firstDay = await firstDayKept(pool);
    if (since < new Date(firstDay)) throw refuse('since', `Deliveries are kept from ${firstDay} on`);
    if (!hook.active || hook.restricted) throw refuse('hook', 'Hook is not active');
    const begun = await beginReplay(
      pool,
      { id: hook.id, accountId: place.account.id, subject: token.subject },
      { since, until, status: body.status, events: events?.includes('*') ? null : events },
      checkTime,
    );
    if (begun.kind === 'another')
      throw new ApiError(409, `Replay ${begun.id} of this hook is running. Wait until it ends, or stop it`);
    if (begun.kind === 'too_many')
      throw refuse('account', `At most ${runningMax} replays of ${place.account.login} run at once`);
    return { status: 202, body: presentReplay(begun.row) };
  },
});

const refuse = (field: string, message: string) =>
  validationFailed({ resource: 'Replay', code: 'unprocessable', field, message });
