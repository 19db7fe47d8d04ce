/** What may be said about a refused authorization request to those who must fix the application or its registration. */
import { unreadable } from '@gatepost/runtime/mask';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { isLoopback } from '../http/loopback.ts';

/** Answers to `prompt=none`, and people's own decisions: the request itself was good. */
const expectedErrors = new Set([
  'login_required',
  'consent_required',
  'interaction_required',
  'account_selection_required',
  'access_denied',
  'temporarily_unavailable',
]);
const urisMax = 20;

export type RefusedRequest = {
  clientId: string | undefined;
  details: { error: string; description?: string; client_asked?: string; redirect_uri?: string; registered?: string[] };
};

/** Undefined when the request itself was not the reason for the refusal. */
export function describeRefusedRequest(ctx: KoaContextWithOIDC, error: Error): RefusedRequest | undefined {
  if (expectedErrors.has(error.message)) return undefined;
  // A failed sign-in at another provider is logged separately (upstream/sign-in.ts).
  const ended = ctx.oidc.entities.Interaction as { result?: { error?: unknown } } | undefined;
  if (ended?.result?.error !== undefined) return undefined;
  const { client } = ctx.oidc;
  const { client_id, redirect_uri } = parametersOf(ctx);
  const description = (error as { error_description?: string }).error_description;
  return {
    clientId: client?.clientId,
    details: {
      error: error.message,
      ...(description && { description: description.slice(0, 300) }),
      ...(!client && typeof client_id === 'string' && { client_asked: shortened(client_id) }),
      ...(typeof redirect_uri === 'string' && { redirect_uri: shownUri(redirect_uri) }),
      ...(client && { registered: client.redirectUris?.slice(0, urisMax).map(shownUri) ?? [] }),
    },
  };
}

/**
 * For the page: the requested client or address and where to register it, if only the developer can be looking (a loopback
 * issuer).
 */
export function adviceForDeveloper(ctx: KoaContextWithOIDC, error: Error): string | undefined {
  if (!isLoopback(new URL(`http://${new URL(ctx.oidc.issuer).hostname}/`))) return undefined;
  const { client_id, redirect_uri } = parametersOf(ctx);
  const { client } = ctx.oidc;
  const clients = `${ctx.oidc.issuer.replace(/\/?$/, '/')}api/v2/clients`;
  if (error instanceof errors.InvalidClient && !client && typeof client_id === 'string')
    return `there is no client ${shownUri(client_id)}. Register it: in the seed file (docs/seed.md), or by POST ${clients}`;
  if (!(error instanceof errors.InvalidRedirectUri) || !client || typeof redirect_uri !== 'string') return undefined;
  const address = `${clients}/${encodeURIComponent(client.clientId)}`;
  return `${shownUri(redirect_uri)}. Register it among the callbacks of ${client.clientId}: in the seed file (docs/seed.md), or by PATCH ${address}`;
}

/** An address as text, since it is compared as text, but without query and fragment, which may hold anything. */
function shownUri(uri: string): string {
  const [address = ''] = uri.split(/[?#]/, 1);
  if (address.includes('@')) return unreadable;
  return shortened(address.length < uri.length ? `${address}?…` : address);
}

function shortened(text: string): string {
  return text.slice(0, 300).replaceAll('\0', '').toWellFormed();
}

function parametersOf(ctx: KoaContextWithOIDC): Record<string, unknown> {
  return (ctx.oidc.params ?? (ctx.method === 'POST' ? ctx.oidc.body : ctx.query) ?? {}) as Record<string, unknown>;
}
