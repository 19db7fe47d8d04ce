/**
 * Every sign-in and every exchange of a code or refresh token needs a grant and its account, in quick succession and in either
 * order. Whichever is asked for first brings the other along in the same statement; a refresh token brings both. The row is kept
 * for the same request only and handed out once, so that a second look sees later writes, and blocking an account or revoking a
 * grant takes effect at once. This saves two of four statements per flow; `npm run bench -- tokens` counts them. If the library
 * changed the order of its lookups, that would cost statements, not correctness.
 */
import Provider from 'oidc-provider';

export type PrefetchedRow = {
  kind: 'grant' | 'account';
  id: string;
  row: object;
  /** Came with the same statement and is needed after this row. */
  next?: PrefetchedRow;
};

const prefetched = new WeakMap<object, PrefetchedRow>();

/** Keeps a row for the current request; outside of a request it is dropped. */
export function storePrefetched(found: PrefetchedRow): void {
  const ctx = Provider.ctx;
  if (ctx) prefetched.set(ctx, found);
}

/** The row, if this request has one and has not taken it yet. */
export function takePrefetched<Row extends object>(kind: PrefetchedRow['kind'], id: string): Row | undefined {
  const ctx = Provider.ctx;
  const found = ctx && prefetched.get(ctx);
  if (!found || found.kind !== kind || found.id !== id) return undefined;
  if (found.next) prefetched.set(ctx, found.next);
  else prefetched.delete(ctx);
  return found.row as Row;
}

const rotations = new WeakMap<object, { consumed?: string }>();

/**
 * For the current request: the statement that stores a refresh token's successor also consumes the token, so that there is one
 * statement and one wait for the disk. A token whose successor is never stored stays unconsumed.
 */
export function consumeWithSuccessor(): void {
  const ctx = Provider.ctx;
  if (ctx) rotations.set(ctx, {});
}

/** Whether the token is to be consumed with its successor; if so, remembers it. */
export function isConsumedLater(id: string): boolean {
  const rotation = Provider.ctx && rotations.get(Provider.ctx);
  if (rotation) rotation.consumed = id;
  return rotation !== undefined;
}

/** The token to consume with the one being stored now, if any; returned once. */
export function takeConsumed(): string | undefined {
  const rotation = Provider.ctx && rotations.get(Provider.ctx);
  const id = rotation?.consumed;
  if (rotation) delete rotation.consumed;
  return id;
}
