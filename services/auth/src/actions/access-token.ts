/** Applies what actions set on an access token: claims, and scopes among those its client may have at the API. */
import type { StoredOutcome } from './outcomes.ts';

type Token = { scope?: string; scopes?: Set<string>; resourceServer?: { scopes: Set<string> } };

/** @param isManagement a management API token gets its scopes from permissions, and none of an action’s own claims */
export function applyToAccessToken(
  { accessToken, scopes }: StoredOutcome,
  token: Token,
  payload: Record<string, unknown>,
  isManagement: boolean,
): void {
  for (const [name, value] of Object.entries(accessToken))
    if (!isManagement || name.includes(':')) payload[name] = value;
  const changes = Object.entries(scopes);
  if (isManagement || changes.length === 0 || !token.resourceServer) return;
  const kept = new Set(token.scope?.split(' ').filter(Boolean));
  for (const [scope, isAdded] of changes) {
    if (!isAdded) kept.delete(scope);
    else if (token.resourceServer.scopes.has(scope)) kept.add(scope);
  }
  token.scope = [...kept].join(' '); // the response states this
  payload.scope = token.scope || undefined;
}
