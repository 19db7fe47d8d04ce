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
import { isTokensFault } from '../access/token.ts';
import { applyOrganization } from './apply.ts';

type Consuming = {
  broker: Omit<Parameters<typeof openConsumer>[0], 'queue' | 'prefetch' | 'onMessage' | 'topology'>;
  pool: Pool;
  keys: Pick<Keys, 'get' | 'wereReadSince'>;
  issuers: string[];
  log: Log;
};

const retryMs = 1_000;
// In hand while one waits for its key: the same read then decides about all of them.
const inHand = { prefetch: 100, maxBytes: 16 * 1024 * 1024 };

/** One at a time: versions determine the order, whatever arrives first. */
export function openOrganizations(parts: Consuming): Promise<Consumer> {
  let turn = Promise.resolve();
  return openConsumer({
    ...parts.broker,
    ...inHand,
    topology: organizationsTopology,
    queue: organizationsQueue,
    onMessage: (message) => {
      const cameMs = Date.now();
      turn = turn.then(() => settle(parts, message, cameMs));
    },
  });
}

async function settle(parts: Consuming, message: Incoming, cameMs: number): Promise<void> {
  const { pool, keys, issuers, log } = parts;
  if (message.isLost()) return; // it comes again
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
    // The gate may have a new key, and an unknown one causes a read of the gate's keys only every few seconds.
    if (error instanceof errors.JWKSNoMatchingKey && !keys.wereReadSince(cameMs)) {
      await sleep(retryMs);
      return settle(parts, message, cameMs);
    }
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
const isItsOwnFault = (error: unknown) => (error as Error).name === 'ZodError' || isTokensFault(error);
