/** The `ping` event (https://docs.github.com/webhooks/webhook-events-and-payloads#ping): made here, stored like any other, delivered to one hook. */

import { randomInt } from 'node:crypto';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Queryable } from '@gatepost/webhook-db/pool';
import type { Place } from '../access/place.ts';
import type { Token } from '../access/token.ts';
import { presentSimpleOrganization } from '../objects/organization.ts';
import { presentRepository } from '../objects/repository.ts';
import { presentUser, userOfSubject } from '../objects/user.ts';
import { storeOwnEvent } from './own-event.ts';

export type StoredPing = { job: DeliveryJob; payload: Buffer };

/** Stores a ping for the hook whose JSON is `hook`, and parks its delivery. @returns what to publish once this is committed. */
export async function storePing(
  db: Queryable,
  place: Place,
  token: Token,
  hook: Record<string, unknown>,
  base: string,
): Promise<StoredPing> {
  const payload = Buffer.from(JSON.stringify(pingPayload(place, token, hook, base)));
  const job = await storeOwnEvent(db, place, { hookId: Number(hook.id), event: 'ping', action: null, payload });
  return { payload, job };
}

function pingPayload(place: Place, token: Token, hook: Record<string, unknown>, base: string): Record<string, unknown> {
  const { account, repository } = place;
  return {
    zen: zen[randomInt(zen.length)],
    hook_id: hook.id,
    hook,
    ...(repository
      ? { repository: presentRepository(account, repository, base) }
      : { organization: presentSimpleOrganization(account, base) }),
    sender: presentUser(userOfSubject(token.subject), base),
  };
}

const zen = [
  'Keep the gate, not the guests.',
  'A signature is worth a thousand allow-lists.',
  'Answer first, work later.',
  'What arrives twice was meant once.',
  'Late is better than lost.',
];
