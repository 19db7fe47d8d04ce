import type { DeadReason } from '@gatepost/contracts/dead-reason';

/**
 * - `invalid`: an attribute or the payload breaks a rule, `reason` says which; nothing was sent.
 * - `unroutable`: no queue takes it: no dispatcher has ever run on that broker and vhost.
 * - `not_connected`: there was no connection for too long.
 * - `timeout`: the broker was there but did not confirm in time.
 * - `refused`: the broker refused it; `cause` says why.
 * - `busy`: too much is in flight already; nothing was sent.
 * - `closed`: the producer was closed.
 */
export type PublishErrorCode = 'invalid' | 'unroutable' | 'not_connected' | 'timeout' | 'refused' | 'busy' | 'closed';

/**
 * Why an event was not published. After `not_connected`, `timeout`, `refused` and `closed` the broker may have it all the same: publish it
 * again with the same `id`, and it is still delivered once.
 */
export class PublishError extends Error {
  override name = 'PublishError';
  readonly code: PublishErrorCode;
  /** The event's id, given or made; empty if the producer could not be opened. */
  readonly id: string;
  /** With `invalid`: which rule. */
  readonly reason: DeadReason | undefined;
  constructor(
    code: PublishErrorCode,
    id: string,
    message: string,
    { reason, ...options }: ErrorOptions & { reason?: DeadReason } = {},
  ) {
    super(message, options);
    this.code = code;
    this.id = id;
    this.reason = reason;
  }
}
