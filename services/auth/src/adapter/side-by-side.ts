/**
 * A grant and its account are asked for one after the other in every sign-in and every code or refresh token exchanged, the one
 * first here, the other there. Whichever comes first brings the other along in the same statement; it waits here, for the
 * same request alone, and is handed out once, so that whoever asks again sees what was written since, and a blocked account or a
 * revoked grant ends everything at once. Two statements a flow instead of four; `npm run bench -- tokens` counts them. Another order of
 * the library's questions would cost statements, not correctness.
 */
import Provider from 'oidc-provider';

export type Waiting = { kind: 'grant' | 'account'; id: string; row: object };

const waiting = new WeakMap<object, Waiting>();

/** Keeps a row for the request under way; outside of one it is forgotten. */
export function setAside(found: Waiting): void {
  const ctx = Provider.ctx;
  if (ctx) waiting.set(ctx, found);
}

/** The row, if it was brought along in this request and not taken yet. */
export function takeAside<Row extends object>(kind: Waiting['kind'], id: string): Row | undefined {
  const ctx = Provider.ctx;
  const found = ctx && waiting.get(ctx);
  if (!found || found.kind !== kind || found.id !== id) return undefined;
  waiting.delete(ctx);
  return found.row as Row;
}
