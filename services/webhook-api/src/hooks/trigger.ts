/**
 * `POST …/hooks/{hook_id}/triggers`: an event made up by the caller, for this hook alone; GitHub has no such thing. It is signed like any other,
 * so the caller must know the hook's secret: he can then sign anything without us, and nobody else gains anything (decision 0313).
 */
import { eventTypeForm, ownAction } from '@gatepost/contracts/event';
import { z } from 'zod';
import { type ErrorItem, validationFailed } from '../http/errors.ts';
import { ours, placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { seconds } from '../objects/time.ts';
import { checkConnected, publishDelivery } from '../publish.ts';
import { splitUrl } from './credentials.ts';
import { changeInPlace } from './lock.ts';
import { overlapEnd } from './overlap.ts';
import { storeOwnEvent } from './own-event.ts';
import { type HookRow, loadHook } from './rows.ts';
import { isSameSecret } from './same-secret.ts';
import { openSecret } from './stored.ts';

const bodySchema = z
  .object({
    event: z
      .string()
      .regex(eventTypeForm, 'is not an event type')
      .meta({ description: 'A type that the hook subscribes to' }),
    payload: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What is delivered; its `action`, if it has one, is that of the event' }),
    secret: z.string().optional().meta({ description: 'The secret of the hook, if it has one: it signs the delivery' }),
  })
  .meta({ id: 'Trigger', ...ours });

const triggeredSchema = z
  .object({
    id: z.int().meta({ description: "The delivery's id, which it will also have in the log" }),
    guid: z.uuid(),
  })
  .meta({ id: 'TriggeredDelivery', ...ours });

export const triggerEvent = placeOperation({
  id: 'trigger-webhook',
  summary: 'Send an event of your own to a webhook',
  body: bodySchema,
  creates: true,
  answers: { 201: { description: 'It is on its way', schema: triggeredSchema } },
  async run({ parts, place, token, params, body: { event, payload, secret }, checkTime }) {
    checkConnected(parts.publisher);
    const own = {
      hookId: parseHookId(params),
      event,
      action: ownAction(payload),
      payload: Buffer.from(JSON.stringify(payload)),
    };
    // Serialized with changes of the hook: an event asked for while its secret changes would be signed by the next one.
    const job = await changeInPlace({ parts, place, checkTime }, async (db) => {
      const row = await loadHook(db, place, token, own.hookId);
      const problem =
        findProblem(row, event) ??
        findSenderProblem(row) ??
        findOverlap(row) ??
        findSecretProblem(openSecret(row.secret, parts.seal), secret);
      if (problem) throw validationFailed({ resource: 'Hook', code: 'custom', ...problem });
      return storeOwnEvent(db, place, own);
    });
    await publishDelivery(parts, job, own.payload, checkTime);
    return { status: 201, body: { id: job.deliveryId, guid: job.guid } };
  },
});

type Problem = Pick<ErrorItem, 'field' | 'message'>;

function findProblem({ active, restricted, events }: HookRow, event: string): Problem | undefined {
  if (!active || restricted) return { field: 'active', message: 'The hook is not active' };
  // Pings are redelivered under whatever secret is current by then, so only our own may exist.
  if (event === 'ping') return { field: 'event', message: 'A ping cannot be made up: POST …/pings sends one' };
  if (!events.includes(event) && !events.includes('*'))
    return { field: 'event', message: 'The hook does not subscribe to this event' };
  return undefined;
}

/**
 * Whether its requests carry anything that identifies the sender to a receiver: those who may change the hook cannot read it, and nobody may
 * speak in its name. Requests without it go nowhere else (hooks/origin.ts).
 */
export const hasSenderProof = ({
  headers,
  credentials,
  url,
}: Pick<HookRow, 'headers' | 'credentials' | 'url'>): boolean =>
  headers !== null || credentials !== null || splitUrl(url).credentials !== null;

function findSenderProblem(row: HookRow): Problem | undefined {
  if (!hasSenderProof(row)) return undefined;
  const field = row.headers === null ? 'url' : 'request_headers';
  const message = 'The hook has request headers, or a user name in its URL: no event can be made up in their name';
  return { field, message };
}

/** The previous secret signs too, and whoever set the present one need not know it. */
function findOverlap(row: HookRow): Problem | undefined {
  const until = overlapEnd(row);
  if (!until) return undefined;
  return {
    field: 'secret',
    message: `The previous secret also signs until ${seconds(until)}: no event can be made up before then`,
  };
}

function findSecretProblem(kept: string | null, given: string | undefined): Problem | undefined {
  if (kept === null || (given !== undefined && isSameSecret(kept, given))) return undefined;
  if (given === undefined)
    return { field: 'secret', message: 'The hook has a secret: whoever sends it events must know it' };
  return { field: 'secret', message: 'This is not the secret of the hook' };
}
