/** `POST …/hooks/{hook_id}/pings`. Only an active hook produces deliveries: a ping of any other is accepted, but nothing is sent. */
import { placeOperation } from '../http/operation.ts';
import { parseHookId } from '../http/path-ids.ts';
import { checkConnected, publishDelivery } from '../publish.ts';
import { githubDocs } from './documentation.ts';
import { storePing } from './ping-event.ts';
import { presentHook } from './present.ts';
import { loadHook } from './rows.ts';

export const pingHook = placeOperation({
  id: 'ping-webhook',
  summary: 'Send a ping',
  docs: githubDocs('ping-a-repository-webhook', 'ping-an-organization-webhook'),
  answers: { 204: { description: 'The ping is on its way, if the hook is active' } },
  async run({ parts, place, token, params, base, checkTime }) {
    const row = await loadHook(parts.pool, place, token, parseHookId(params));
    if (row.active && !row.restricted) {
      checkConnected(parts.publisher);
      checkTime();
      const hook = presentHook(row, place, base, parts.seal);
      const { job, payload } = await storePing(parts.pool, place, token, hook, base);
      await publishDelivery(parts, job, payload, checkTime);
    }
    return { status: 204 };
  },
});
