/** A lack of resources on this machine, and why a message gets a dead letter. */
import type { DeadReason } from '@gatepost/contracts/dead-reason';
import { sqlStateOf, type Trouble } from '@gatepost/runtime/store-errors';

/** This machine is out of file handles, memory or ports at the moment. */
export class OutOfResources extends Error {
  override name = 'OutOfResources';
  readonly trouble: Trouble = 'away';
}

/** The reason and detail of a message's dead letter. */
export function deadReasonOf(error: unknown): { reason: DeadReason; detail: string } {
  const state = sqlStateOf(error);
  const { message = String(error) } = error as { message?: string };
  if (state !== undefined) return { reason: 'not_storable', detail: `${state}: ${message}` };
  return { reason: 'not_handled', detail: message };
}
