/**
 * The gate's organizations that are accounts here, with their members, as reported by the gate (docs/reference/organization-accounts.md). Its
 * statements are signed with its keys; anything else in the queue is ignored.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Consumer, type Incoming, openConsumer } from '@gatepost/amqp/consumer';
import {
  organizationSchema,
  organizationStatement,
  organizationsQueue,
  organizationsTopology,
} from '@gatepost/contracts/organizations';
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Pool } from '@gatepost/webhook-db/pool';
import { errors, jwtVerify } from 'jose';
import type { Keys } from '../access/keys.ts';
import { applyOrganization } from './apply.ts';

type Consuming = {
  broker: Omit<Parameters<typeof openConsumer>[0], 'queue' | 'prefetch' | 'onMessage' | 'topology'>;
  pool: Pool;
  keys: Pick<Keys, 'get'>;
  issuers: string[];
  log: Log;
};

const retryMs = 1_000;

/** One at a time: versions determine the order, whatever arrives first. */
export function openOrganizations(parts: Consuming): Promise<Consumer> {
  return openConsumer({
    ...parts.broker,
    topology: organizationsTopology,
    queue: organizationsQueue,
    prefetch: 1,
    onMessage: (message) => void settle(parts, message),
  });
}

async function settle({ pool, keys, issuers, log }: Consuming, message: Incoming): Promise<void> {
  try {
    const { typ, audience } = organizationStatement;
    const { payload } = await jwtVerify(message.body.toString(), keys.get, {
      issuer: issuers,
      audience,
      typ,
      algorithms: ['RS256'],
    });
    const statement = organizationSchema.parse(payload.organization);
    const outcome = await applyOrganization(pool, statement);
    if (outcome === 'taken')
      log.warn(
        { 'account.login': statement.name, 'organization.id': statement.id },
        'an organization of the gate did not become an account: its name is taken, or cannot be the name of an account',
      );
    message.ack();
  } catch (error) {
    if (isItsOwnFault(error)) {
      log.warn(
        { error: describeError(error), 'amqp.message_id': message.messageId },
        'a statement about an organization did not come from the gate',
      );
      return message.ack();
    }
    log.warn({ error: describeError(error) }, 'an organization of the gate waits: it could not be written');
    await sleep(retryMs);
    message.giveBack();
  }
}

/** False if the gate's keys could not be read, or a store is away. */
function isItsOwnFault(error: unknown): boolean {
  if ((error as Error).name === 'ZodError') return true;
  return (
    error instanceof errors.JOSEError && error.code !== errors.JOSEError.code && !(error instanceof errors.JWKSTimeout)
  );
}
