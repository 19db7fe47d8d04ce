/**
 * Parameters of an authorization request beyond OpenID's. Each validator runs at the end of the library's own validation, on every
 * request (PAR and device included), even if the parameter is absent, and may change it.
 */
import { type Client, type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Sessions } from '../adapter/sessions.ts';
import { checkRequestObject } from '../clients/fapi.ts';
import { tooLong } from '../http/parameter-size.ts';
import { checkJson } from '../http/well-formed.ts';
import { withoutUri } from '../library/grants/authorization-code.ts';
import { checkInvitation, checkOrganization, type OrganizationParts } from '../organizations/request.ts';
import { audienceOf } from '../resources/audience.ts';
import type { ResourceStore } from '../resources/store.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { SettingsStore } from '../settings/store.ts';
import { isUpstream } from '../upstream/strategies.ts';
import { refuseTokensInTheClear } from './front-channel.ts';
import { loginByTicket, type TicketStore } from './login-ticket.ts';

const extName = /^ext-[A-Za-z0-9_-]{1,28}$/;
const extMax = 10;
/** Auth0’s alphabet: no character has a meaning in HTML or CSS, and none can call anything. */
const extValue = /^[A-Za-z0-9\-.*~@+ /:_]{1,255}$/;

type Parameters = Record<string, unknown>;

export function makeExtraParams(
  stores: OrganizationParts & {
    resources: ResourceStore;
    settings: SettingsStore;
    connections: ConnectionStore;
    tickets: TicketStore;
    sessions: Pick<Sessions, 'end'>;
    issuer: string;
  },
): Configuration['extraParams'] {
  return {
    // Runs first: values that are too long are neither examined nor kept.
    audience: checkSizes,
    organization: (ctx: KoaContextWithOIDC, name: string | undefined, client: Client) =>
      checkOrganization(stores, ctx, name, client),
    screen_hint: null,
    // Not a client's parameter: a check of every request, before it logs anybody in.
    front_channel: refuseTokensInTheClear,
    login_ticket: (ctx: KoaContextWithOIDC, ticket: string | undefined, client: Client) =>
      loginByTicket(stores, ctx, ticket, client),

    // Names a connection to start at once: a passwordless one (ignored while identifier-first is off), or another provider’s.
    async connection(ctx: KoaContextWithOIDC, name: string | undefined, client: Client) {
      if (name === undefined) return;
      const params = ctx.oidc.params as Parameters;
      const connection = await stores.connections.find(name, client.clientId);
      if (connection && isUpstream(connection.strategy)) return;
      const { identifierFirst } = await stores.settings.load();
      if (!identifierFirst || !connection || connection.strategy === 'auth0') params.connection = undefined;
    },

    // Runs after the organization that it is for, and after `connection`: the one that it names is not the request's to choose, and stays.
    invitation: (ctx: KoaContextWithOIDC, ticket: string | undefined, client: Client) =>
      checkInvitation(stores, ctx, ticket, client),

    // `ext-*` can have any name and the library wants each one registered, so all of them travel packed into this one, which survives
    // PAR, JAR, login and consent. A value that a client sends under this name is dropped.
    ext(ctx: KoaContextWithOIDC, packed: string | undefined) {
      const params = ctx.oidc.params as Parameters;
      const pushed = ctx.oidc.entities.PushedAuthorizationRequest ? parsePacked(packed) : {};
      const given = { ...pushed, ...pickExt(sourceOf(ctx)) };
      const kept = Object.entries(given).slice(0, extMax);
      params.ext = kept.length > 0 ? JSON.stringify(Object.fromEntries(kept)) : undefined;
    },

    // Not a client's parameter: after this the library has filled in the client's only redirect URI.
    [withoutUri](ctx: KoaContextWithOIDC, pushed: string | undefined) {
      const marker = ctx.oidc.entities.PushedAuthorizationRequest
        ? pushed
        : sourceOf(ctx).redirect_uri
          ? undefined
          : '1';
      (ctx.oidc.params as Parameters)[withoutUri] = marker;
    },

    offline: (ctx: KoaContextWithOIDC, marker: string | undefined, client: Client) =>
      decideOffline(stores.resources, ctx, marker, client),
  } as Configuration['extraParams'];
}

// Packed here, from values that are each bounded.
const packed = new Set(['ext']);

/** The redirect URI and the client have already been checked, so the client is told. */
function checkSizes(ctx: KoaContextWithOIDC): void {
  const params = ctx.oidc.params as Parameters;
  const problem = tooLong(params, packed);
  if (problem !== undefined) throw new errors.InvalidRequest(problem);
  if (!isStorableJson(params.claims)) throw new errors.InvalidRequest('the claims parameter is malformed');
}

/** Whether a JSON parameter can be stored, as it is with a refresh token. The library has already checked that it is JSON. */
function isStorableJson(text: unknown): boolean {
  try {
    checkJson(typeof text === 'string' ? JSON.parse(text) : text);
    return true;
  } catch {
    return false;
  }
}

/** Keeps a signed request's parameters for validators that must ignore those beside it; all other checks are the library’s. */
export async function rememberRequestObject(
  ctx: KoaContextWithOIDC,
  parameters: Record<string, unknown>,
  header: Record<string, unknown>,
): Promise<void> {
  // Checked before the signature, which is slow to verify; a pushed request has already been measured.
  const problem = ctx.oidc.entities.PushedAuthorizationRequest
    ? undefined
    : tooLong({ request: (ctx.oidc.params as Parameters).request });
  if (problem !== undefined) throw new errors.InvalidRequestObject(problem);
  try {
    checkJson(parameters);
  } catch {
    throw new errors.InvalidRequestObject('the request object is malformed');
  }
  checkRequestObject(ctx, parameters, header);
  (ctx.state as { requestObject?: unknown }).requestObject = parameters;
}

/** The request's `ext-*` parameters, as pages see them in `transaction.params`. */
export function extParameters(params: Parameters | undefined): Record<string, string> {
  return parsePacked(params?.ext);
}

/** The library drops offline_access without prompt=consent, which Auth0's SDKs never send. */
async function decideOffline(
  resources: ResourceStore,
  ctx: KoaContextWithOIDC,
  marker: string | undefined,
  client: Client,
): Promise<void> {
  const params = ctx.oidc.params as Parameters;
  const asked =
    marker === '1' ||
    String(sourceOf(ctx).scope ?? '')
      .split(' ')
      .includes('offline_access');
  const codeFlow = params.response_type === undefined || String(params.response_type).includes('code');
  const allowed =
    asked && codeFlow && client.grantTypeAllowed('refresh_token') && (await apisAllowOffline(ctx, resources));
  const scopes = new Set(
    String(params.scope ?? '')
      .split(' ')
      .filter(Boolean),
  );
  if (allowed) scopes.add('offline_access');
  else scopes.delete('offline_access');
  params.offline = allowed ? '1' : undefined;
  params.scope = scopes.size > 0 ? [...scopes].join(' ') : undefined;
}

async function apisAllowOffline(ctx: KoaContextWithOIDC, resources: ResourceStore): Promise<boolean> {
  for (const indicator of Object.keys(ctx.oidc.resourceServers ?? {})) {
    const api = await resources.find(audienceOf(indicator));
    if (!api?.allowOfflineAccess) return false;
  }
  return true;
}

/** Where the parameters come from: a signed request object's claims replace the request that carries it. */
function sourceOf(ctx: KoaContextWithOIDC): Parameters {
  const claims = (ctx.state as { requestObject?: Parameters }).requestObject;
  if (claims) return claims;
  // A pushed request replaces the whole request (RFC 9126): nothing beside request_uri counts.
  if (ctx.oidc.entities.PushedAuthorizationRequest) return {};
  return (ctx.method === 'POST' ? (ctx.oidc.body as Parameters | undefined) : ctx.query) ?? {};
}

function pickExt(source: Parameters): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (extName.test(name) && typeof value === 'string' && extValue.test(value)) picked[name] = value;
  }
  return picked;
}

function parsePacked(packed: unknown): Record<string, string> {
  if (typeof packed !== 'string') return {};
  try {
    return pickExt(JSON.parse(packed) as Parameters);
  } catch {
    return {}; // not ours: a client sent a parameter of that name
  }
}
