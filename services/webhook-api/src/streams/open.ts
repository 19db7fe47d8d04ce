/** `GET …/hooks/{hook_id}/deliveries/stream`: a hook's deliveries as they are recorded, as server-sent events. */
import { z } from 'zod';
import { checkMaySee } from '../deliveries/seen.ts';
import { ApiError, validationFailed } from '../http/errors.ts';
import { enteringOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { findAge } from './rows.ts';

export const streamDeliveries = enteringOperation({
  id: 'stream-webhook-deliveries',
  summary: 'Watch the deliveries of a webhook',
  streams: true,
  answers: {
    200: {
      description:
        'An event named `delivery` for each delivery as it is recorded, with the data that the list shows. The stream begins after the delivery that `Last-Event-ID` names. Some come twice, with the same id',
      schema: z.string(),
      mediaType: 'text/event-stream',
    },
    422: { description: '`Last-Event-ID` is not the id of a delivery' },
  },
  async run({ parts, wanted, token, params, header, headOnly, authenticate }) {
    const log = { token, wanted, hookId: parseHookId(params) };
    await checkMaySee(parts.reads, log);
    const last = lastId(header('last-event-id'));
    const ageMs = last === undefined ? undefined : ((await findAge(parts.pool, log.hookId, last)) ?? 'unknown');
    const standing = async () => {
      try {
        await authenticate();
        await checkMaySee(parts.reads, log);
        return true;
      } catch (error) {
        // A store or the gate may be away: it will be checked again.
        return !(error instanceof ApiError && [401, 403, 404].includes(error.status));
      }
    };
    const opening = headOnly
      ? {}
      : { stream: await parts.streams.open({ hookId: log.hookId, token, ageMs, standing }) };
    // Nginx would hold events back; other proxies would compress or cache them.
    const headers = { 'Cache-Control': 'private, no-store, no-transform', 'X-Accel-Buffering': 'no' };
    return { status: 200, ...opening, headers: { 'Content-Type': 'text/event-stream; charset=utf-8', ...headers } };
  },
});

function lastId(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const id = Number(text);
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(id)) return id;
  throw validationFailed({ resource: 'Delivery', code: 'invalid', field: 'Last-Event-ID' });
}
