/**
 * Every sign-in and every exchange of a code or refresh token asks for a grant and for its account, one shortly after the other and
 * in either order. Whichever is asked for first brings the other along in the same statement; a refresh token brings both. It is kept for the same request only
 * and handed out once, so that a second look sees what was written since, and a blocked account or revoked grant takes effect at
 * once. This saves two of four statements per flow; `npm run bench -- tokens` counts them. If the library changed its order of
 * questions, that would cost statements, not correctness.
 */
import Provider from 'oidc-provider';

export type Waiting = {
  kind: 'grant' | 'account';
  id: string;
  row: object;
  /** What came with the same statement and is asked for after this. */
  next?: Waiting;
};

const waiting = new WeakMap<object, Waiting>();

/** Keeps a row for the current request; outside of a request it is dropped. */
export function setAside(found: Waiting): void {
  const ctx = Provider.ctx;
  if (ctx) waiting.set(ctx, found);
}

/** The row, if this request brought it along and has not taken it yet. */
export function takeAside<Row extends object>(kind: Waiting['kind'], id: string): Row | undefined {
  const ctx = Provider.ctx;
  const found = ctx && waiting.get(ctx);
  if (!found || found.kind !== kind || found.id !== id) return undefined;
  if (found.next) waiting.set(ctx, found.next);
  else waiting.delete(ctx);
  return found.row as Row;
}

const rotations = new WeakMap<object, { consumed?: string }>();

/**
 * For the current request: a refresh token that is consumed is consumed by the statement that stores its successor, so that there is
 * one of them, and one wait for the disk. A token whose successor is never stored stays as it was.
 */
export function consumeWithSuccessor(): void {
  const ctx = Provider.ctx;
  if (ctx) rotations.set(ctx, {});
}

/** Whether the token is to be consumed with its successor; then that is remembered. */
export function isConsumedLater(id: string): boolean {
  const rotation = Provider.ctx && rotations.get(Provider.ctx);
  if (rotation) rotation.consumed = id;
  return rotation !== undefined;
}

/** The token to consume with the one that is stored now, if any; once. */
export function takeConsumed(): string | undefined {
  const rotation = Provider.ctx && rotations.get(Provider.ctx);
  const id = rotation?.consumed;
  if (rotation) delete rotation.consumed;
  return id;
}
