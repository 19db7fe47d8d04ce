/** `DELETE …/deliveries/replays/{replay_id}`: no further deliveries begin; those in flight finish. */
import { endReplay, forgetStopped } from '@gatepost/webhook-db/replays';
import { loadHook } from '../hooks/rows.ts';
import { notFound } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { parseHookId, parseReplayId } from '../http/path-ids.ts';
import { findReplay } from './rows.ts';

export const stopReplay = placeOperation({
  id: 'stop-webhook-replay',
  summary: 'Stop a replay',
  answers: {
    204: { description: 'It is stopped, or had already ended' },
    422: { description: 'That is not the id of a replay' },
  },
  async run({ parts: { pool }, place, token, params }) {
    const id = parseReplayId(params);
    const hook = await loadHook(pool, place, token, parseHookId(params));
    const row = await findReplay(pool, hook.id, id);
    if (!row) throw notFound();
    await endReplay(pool, row, 'asked');
    await forgetStopped(pool);
    return { status: 204 };
  },
});
