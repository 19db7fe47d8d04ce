/** oidc-provider's single configuration object; each entry points to the file with the details. */
import type { Guard } from '@gatepost/runtime/address';
import { baseUrlOf } from '@gatepost/runtime/issuer';
import Provider, {
  type Account,
  type AdapterFactory,
  type Client,
  type Configuration,
  errors,
  type JWKS,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import type { AccountStore } from './accounts/store.ts';
import type { PostLogin } from './actions/post-login.ts';
import { type KnownGrants, presetAccount } from './adapter/known-grants.ts';
import type { Sessions } from './adapter/sessions.ts';
import type { Audit } from './audit.ts';
import type { ConsentStore } from './authorization/consents.ts';
import { makeLoadExistingGrant } from './authorization/existing-grant.ts';
import type { TicketStore } from './authorization/login-ticket.ts';
import { makeExtraParams, rememberRequestObject } from './authorization/parameters.ts';
import { keepErrorsFromStrangers } from './authorization/untrusted-redirect.ts';
import { claims, makeJwtCustomizer } from './claims.ts';
import { checkAssertion } from './clients/assertion.ts';
import { isFapi } from './clients/fapi.ts';
import {
  day,
  grantLifetimeMargin,
  hour,
  interactionLifetime,
  minute,
  refreshLifetime,
  rotates,
  sessionLifetime,
} from './clients/lifetimes.ts';
import { type OwnMetadata, ownMetadataNames } from './clients/metadata.ts';
import { refuseOwnMetadata } from './clients/registration.ts';
import { withConformantClaims } from './conformant-claims.ts';
import type { RequireSecondFactor } from './factors/mfa-token.ts';
import { multiFactorAcr, signInAcr } from './factors/policy.ts';
import type { FactorStore } from './factors/store.ts';
import { exchangedClaims } from './grants/token-exchange.ts';
import { isOwnOrigin } from './http/cors.ts';
import { makeOutsideFetch } from './http/outside-fetch.ts';
import { makePolicy } from './interaction/policy.ts';
import { rememberClients } from './interaction/way-back.ts';
import { makeCookieKeys } from './keys/cookie-keys.ts';
import type { PrivateJwk } from './keys/signing-keys.ts';
import { keepActionOutcomes } from './library/action-outcomes.ts';
import { applyAuthorizationDefaults } from './library/authorization-defaults.ts';
import { type Change, changeAnswers } from './library/middleware.ts';
import { dressOwnForms } from './library/own-forms.ts';
import { redirectGetsWith302, registerResponseModes } from './library/response-modes.ts';
import {
  acceptHintsOfAllAlgs,
  allowBareToken,
  allowLocalImplicit,
  alwaysIncludeSid,
  applySeam,
  checkResponseModes,
  keepKnownScopes,
  keepProperty,
  replaceSigningKeys,
} from './library/seam.ts';
import { bindSessions, connectionOfSession, countedFrom } from './library/sessions.ts';
import { withOrganization } from './organizations/in-claims.ts';
import type { InvitationStore } from './organizations/invitations.ts';
import type { OrganizationStore } from './organizations/store.ts';
import { locales } from './pages/language.ts';
import type { ProviderPages } from './provider-pages.ts';
import { makeResourceIndicators, openidScopes } from './resources/audience.ts';
import type { ResourceStore } from './resources/store.ts';
import { mayPostTo } from './response-modes/web-message.ts';
import type { PermissionStore } from './roles/permissions.ts';
import type { ConnectionStore } from './settings/connections.ts';
import type { SettingsStore } from './settings/store.ts';

export type ProviderParts = {
  issuer: string;
  guard: Guard;
  adapter: AdapterFactory;
  signingKeys: PrivateJwk[];
  cookieKeys: Buffer[];
  dpopNonceSecret: Buffer;
  accounts: AccountStore;
  sessions: Pick<Sessions, 'end'>;
  consents: ConsentStore;
  connections: ConnectionStore;
  resources: ResourceStore;
  permissions: PermissionStore;
  organizations: OrganizationStore;
  invitations: InvitationStore;
  audit: Pick<Audit, 'add'>;
  settings: SettingsStore;
  /** Whether cookies are sent over https only. */
  secure: boolean;
  factors: FactorStore;
  tickets: TicketStore;
  knownGrants: KnownGrants;
  pages: ProviderPages;
  postLogin: PostLogin;
  requireSecondFactor: RequireSecondFactor;
};

/** oidc-client-ts refuses an answer of any other type than JSON, even an empty one. */
const withoutEmptyText: Change = (ctx) => {
  if (ctx.body === '') ctx.remove('content-type');
  return undefined;
};

export function makeProvider(parts: ProviderParts): Provider {
  const provider = new Provider(parts.issuer, configurationOf(parts));
  // The head of every request already says only what the provider may believe (http/head.ts).
  provider.proxy = true;
  changeAnswers(provider, 'all', parts.pages.notFound);
  changeAnswers(provider, 'revocation', withoutEmptyText);
  applySeam(provider);
  replaceSigningKeys(provider, parts.signingKeys); // the configuration accepts only JWKs
  allowBareToken(provider);
  allowLocalImplicit(provider);
  keepKnownScopes(provider, openidScopes);
  alwaysIncludeSid(provider);
  acceptHintsOfAllAlgs(provider);
  checkResponseModes(provider, refuseForeignWebMessage);
  registerResponseModes(provider);
  keepErrorsFromStrangers(provider);
  redirectGetsWith302(provider);
  bindSessions(provider, parts.sessions);
  keepProperty(provider.Grant, 'organization');
  keepActionOutcomes(provider);
  rememberClients(provider);
  dressOwnForms(provider);
  applyAuthorizationDefaults(provider);
  return provider;
}

/**
 * Whether the connection that began the session admits its people to the client. If the session does not say, it is the account's own
 * connection, or that of a linked identity.
 */
async function opens(
  { accounts, connections }: Pick<ProviderParts, 'accounts' | 'connections'>,
  { accountId, connection, session }: { accountId: string; connection: string; session: object },
  clientId: string,
): Promise<boolean> {
  const signedInBy = connectionOfSession(session);
  if (signedInBy !== undefined) return connections.opens(signedInBy, clientId);
  if (await connections.opens(connection, clientId)) return true;
  for (const linked of await accounts.linkedConnections(accountId))
    if (await connections.opens(linked, clientId)) return true;
  return false;
}

/** Asymmetric signature algorithms: the library's defaults. */
const keyPairAlgs = ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA'] as const;

function configurationOf(parts: ProviderParts): Configuration {
  const loadExistingGrant = makeLoadExistingGrant({ ...parts, admission: parts });
  return {
    adapter: parts.adapter,
    // We made the keys; the library's type distinguishes each kind of key.
    jwks: { keys: parts.signingKeys } as unknown as JWKS,
    extraClientMetadata: { properties: ownMetadataNames, validator: refuseOwnMetadata },
    routes: {
      authorization: '/authorize',
      token: '/oauth/token',
      jwks: '/.well-known/jwks.json',
      userinfo: '/userinfo',
      revocation: '/oauth/revoke',
      introspection: '/oauth/introspect',
      pushed_authorization_request: '/oauth/par',
      device_authorization: '/oauth/device/code',
      code_verification: '/activate',
      end_session: '/oidc/logout',
      registration: '/oidc/register',
    },
    responseTypes: ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token'],
    scopes: openidScopes,
    acrValues: [signInAcr, multiFactorAcr],
    claims,
    discovery: { ui_locales_supported: locales, service_documentation: `${baseUrlOf(parts.issuer)}docs` },
    // Decided for each client (conformant-claims.ts).
    conformIdTokenClaims: false,
    // No signature uses a client's secret: only its hash is stored, and anybody who could read that could sign.
    enabledJWA: { clientAuthSigningAlgValues: [...keyPairAlgs], requestObjectSigningAlgValues: [...keyPairAlgs] },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    assertJwtClientAuthClaimsAndHeader: checkAssertion,
    pkce: { required: (_ctx, client) => client.clientAuthMethod === 'none' || isFapi(client) },
    cookies: cookiesOf(parts),
    features: featuresOf(parts),
    fetch: makeOutsideFetch(parts.guard),
    extraParams: makeExtraParams(parts)!,
    interactions: {
      policy: makePolicy({ ...parts, admission: parts, loadExistingGrant }),
      url: (_ctx, interaction) => `/interaction/${interaction.uid}`,
    },
    extraTokenClaims: async (_ctx, token) => exchangedClaims(token),
    // The function also reads properties of our clients and APIs that the typings lack.
    formats: { customizers: { jwt: makeJwtCustomizer(parts) as never } },
    findAccount: (ctx, sub, token) => findAccount(parts, ctx, sub, token),
    loadExistingGrant,
    issueRefreshToken: async (_ctx, client, source) =>
      client.grantTypeAllowed('refresh_token') && source.scopes.has('offline_access'),
    rotateRefreshToken: async (ctx) => {
      // At this point the token is known to be valid, and it survives if an action refuses.
      await parts.postLogin.atRefresh(ctx, parts.requireSecondFactor);
      const client = ctx.oidc.client as Client & OwnMetadata;
      const isPublic = client.clientAuthMethod === 'none';
      return !isFapi(client) && rotates({ refresh_token: client.refresh_token, isPublic });
    },
    // Auth0's tokens outlive the session they came from.
    expiresWithSession: async () => false,
    clientBasedCORS: (_ctx, origin, client) => isOwnOrigin(client as Client & OwnMetadata, origin),
    renderError: parts.pages.renderError,
    ttl: lifetimes,
  };
}

function cookiesOf({ issuer, cookieKeys }: ProviderParts): Configuration['cookies'] {
  const secure = issuer.startsWith('https:');
  return {
    keys: makeCookieKeys(...cookieKeys),
    // Under https, these prefixes keep sites of the same domain from setting the cookies (RFC 6265bis); two cookies have their own path.
    names: secure
      ? { session: '__Host-session', interaction: '__Secure-interaction', resume: '__Secure-resume' }
      : { session: '_session', interaction: '_interaction', resume: '_resume' },
    // Silent renewal in another site's frame needs None, which needs https.
    long: { signed: true, httpOnly: true, sameSite: secure ? 'none' : 'lax', secure },
    short: { signed: true, httpOnly: true, sameSite: 'lax', secure },
  };
}

function featuresOf(parts: ProviderParts): Configuration['features'] {
  return {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
    claimsParameter: { enabled: true },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true, mask: '****-****', ...parts.pages.deviceFlow },
    dPoP: { enabled: true, nonceSecret: parts.dpopNonceSecret },
    fapi: { enabled: true, profile: (_ctx, client) => (isFapi(client) ? '2.0' : undefined) },
    introspection: { enabled: true, allowedPolicy: mayIntrospect },
    jwtResponseModes: { enabled: true },
    jwtUserinfo: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    registration: { enabled: true, initialAccessToken: true, issueRegistrationAccessToken: false },
    requestObjects: { enabled: true, assertJwtClaimsAndHeader: rememberRequestObject },
    resourceIndicators: { enabled: true, ...makeResourceIndicators(parts) },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    rpInitiatedLogout: { enabled: true, ...parts.pages.rpInitiatedLogout },
  };
}

const lifetimes: Configuration['ttl'] = {
  AccessToken: (_ctx, token) => token.resourceServer?.accessTokenTTL ?? day,
  AuthorizationCode: minute,
  ClientCredentials: (_ctx, token) => token.resourceServer?.accessTokenTTL ?? day,
  DeviceCode: 15 * minute,
  Grant: (_ctx, grant) =>
    refreshLifetime((grant as { client?: Client & OwnMetadata }).client).absolute + grantLifetimeMargin,
  IdToken: 10 * hour,
  InitialAccessToken: day,
  // Somebody who has answered gets the full time (interaction/interaction.ts), and so does somebody sent elsewhere by an action.
  Interaction: (ctx, { prompt }) =>
    ctx.oidc.result || prompt.name === 'actions' ? interactionLifetime.answered : interactionLifetime.unanswered,
  PushedAuthorizationRequest: minute,
  RefreshToken: (_ctx, token, client) => {
    const { idle, absolute } = refreshLifetime(client as Client & OwnMetadata);
    return Math.max(1, Math.min(idle, absolute - token.totalLifetime()));
  },
  // A session without an account holds only what a logout page or a device code page needs.
  Session(_ctx, session) {
    if (!session.accountId) return interactionLifetime.unanswered;
    const { endsAt = Number.POSITIVE_INFINITY } = session as { endsAt?: number };
    return Math.max(1, Math.min(sessionLifetime.idle, endsAt - Math.floor(Date.now() / 1000)));
  },
};

async function findAccount(
  parts: ProviderParts,
  ...[ctx, sub, token]: Parameters<NonNullable<Configuration['findAccount']>>
): Promise<Account | undefined> {
  if (token) await presetAccount(parts.knownGrants, token);
  const session = token ? undefined : ctx.oidc?.session;
  const { clientId } = ctx.oidc?.client ?? {};
  const grantId = clientId === undefined ? undefined : session?.grantIdFor(clientId);
  const account = await parts.accounts.findForTokens(sub, session && { ...countedFrom(session), grantId });
  // Somebody who came by a connection closed to the client has no account there, even in a session from elsewhere.
  if (account && session && clientId !== undefined && !(await opens(parts, { ...account, session }, clientId)))
    return undefined;
  return account && withOrganization(ctx, withConformantClaims(ctx, account, parts.settings), parts.organizations);
}

/**
 * The client that the token was issued to, and a confidential client that is the token's API, while the former exists: a machine's JWT
 * has no grant that would end with its client. The library asks this itself at userinfo.
 */
async function mayIntrospect(
  { oidc: { provider } }: KoaContextWithOIDC,
  client: Client,
  token: { clientId?: string; aud?: string | string[] },
): Promise<boolean> {
  if (token.clientId === client.clientId) return true;
  const api = (client as Client & OwnMetadata).resource_server_identifier;
  if (client.clientAuthMethod === 'none' || api == null || ![token.aud].flat().includes(api)) return false;
  return (await provider.Client.find(String(token.clientId))) !== undefined;
}

function refuseForeignWebMessage(ctx: KoaContextWithOIDC, mode: string, client: Client): void {
  if (!mode.startsWith('web_message') || ctx.oidc.route !== 'authorization') return;
  const { redirect_uri } = ctx.oidc.params as { redirect_uri?: string };
  if (mayPostTo(ctx, client, redirect_uri ?? client.redirectUris?.[0])) return;
  const error = new errors.InvalidRequest('response_mode web_message is only for allowed web origins');
  error.allow_redirect = false; // the error must not be posted there
  throw error;
}
