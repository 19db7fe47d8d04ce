/** What an error says about trying again, of whatever it may come from: PostgreSQL, RabbitMQ or this machine. */
import { NotPublished } from '@gatepost/amqp/publisher';
import type { DeadReason } from '@gatepost/contracts/event';
import { troubleOf as databaseTroubleOf, sqlStateOf, type Trouble } from '@gatepost/runtime/database-errors';

/** This machine has no file handle, memory or port left just now. */
export class OutOfResources extends Error {
  override name = 'OutOfResources';
}

/**
 * A broker that is not there, does not answer, cannot take responsibility just now (a nack), or has lost the queue (which is declared
 * anew) is away. What it closes a channel for, or what cannot be written, is something about the message.
 */
export function troubleOf(error: unknown): Trouble {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one instanceof OutOfResources) return 'away';
    if (one instanceof NotPublished) return one.forItself ? 'other' : 'away';
  }
  return databaseTroubleOf(error);
}

/** Why a message cannot be dealt with, as its dead letter says. */
export function deadReasonOf(error: unknown): { reason: DeadReason; detail: string } {
  const state = sqlStateOf(error);
  const { message = String(error) } = error as { message?: string };
  if (state !== undefined) return { reason: 'not_storable', detail: `${state}: ${message}` };
  return { reason: 'not_handled', detail: message };
}
