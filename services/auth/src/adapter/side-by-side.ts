/**
 * Every sign-in and every exchange of a code or refresh token asks for a grant and for its account, one shortly after the other and
 * in either order. Whichever is asked for first brings the other along in the same statement. It is kept for the same request only
 * and handed out once, so that a second look sees what was written since, and a blocked account or revoked grant takes effect at
 * once. This saves two of four statements per flow; `npm run bench -- tokens` counts them. If the library changed its order of
 * questions, that would cost statements, not correctness.
 */
import Provider from 'oidc-provider';

export type Waiting = { kind: 'grant' | 'account'; id: string; row: object };

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
  waiting.delete(ctx);
  return found.row as Row;
}
