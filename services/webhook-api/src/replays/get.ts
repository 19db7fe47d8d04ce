/** `GET …/deliveries/replays/{replay_id}`: its progress. */
import { loadHook } from '../hooks/rows.ts';
import { notFound } from '../http/errors.ts';
import { placeOperation } from '../http/operation.ts';
import { parseHookId, parseReplayId } from '../http/path-ids.ts';
import { presentReplay, replaySchema } from './present.ts';
import { findReplay } from './rows.ts';

export const getReplay = placeOperation({
  id: 'get-webhook-replay',
  summary: 'Get a replay',
  answers: {
    200: { description: 'The replay', schema: replaySchema },
    422: { description: 'That is not the id of a replay' },
  },
  async run({ parts, place, token, params }) {
    const id = parseReplayId(params);
    const hook = await loadHook(parts.reads, place, token, parseHookId(params));
    const row = await findReplay(parts.reads, hook.id, id);
    if (!row) throw notFound();
    return { status: 200, body: presentReplay(row) };
  },
});
