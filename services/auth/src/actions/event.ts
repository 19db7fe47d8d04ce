/** Auth0’s `event`, as far as the gate knows it. Never contains a password, a code or a client’s secret. */
import type { IncomingMessage } from 'node:http';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import { methodNames } from '../accounts/present-session.ts';
import { makePresentUser, type PresentedAccount, presentUsers } from '../accounts/present-user.ts';
import type { OwnMetadata } from '../clients/metadata.ts';
import type { Database, Pool } from '../database.ts';
import { type SecondFactor, secondFactors } from '../factors/types.ts';
import { addressOf } from '../http/head.ts';
import { connectionOfSession } from '../library/sessions.ts';
import type { OrganizationStore } from '../organizations/store.ts';
import { audienceOf } from '../resources/audience.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import { refreshTokenOf, sessionOf } from './event-session.ts';
import type { PersonForActions } from './person.ts';

export type EventParts = {
  issuer: string;
  db: Database;
  pool: Pool;
  connections: ConnectionStore;
  organizations: OrganizationStore;
};

type Params = Record<string, unknown>;

/** Request parameters that are no secrets. */
const publicParams = [
  'acr_values',
  'audience',
  'client_id',
  'connection',
  'display',
  'grant_type',
  'invitation',
  'login_hint',
  'max_age',
  'organization',
  'prompt',
  'realm',
  'redirect_uri',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'screen_hint',
  'ui_locales',
];

const publicParamsOf = (params: Params): Params =>
  Object.fromEntries(
    // Parameters the gate does not know are the application’s own, and may be meant for an action.
    Object.entries(params).filter(([name, value]) => value !== undefined && publicParams.includes(name)),
  );

export function requestOf(issuer: string, request: IncomingMessage, params: Params): object {
  const isToken = request.url?.startsWith('/oauth/token') || request.url?.startsWith('/dbconnections');
  const given = publicParamsOf(params);
  return {
    ip: addressOf(request),
    user_agent: String(request.headers['user-agent'] ?? '').slice(0, 1_000),
    hostname: new URL(issuer).hostname,
    language: String(request.headers['accept-language'] ?? '')
      .split(',', 1)[0]!
      .slice(0, 100),
    method: request.method ?? '',
    query: isToken ? {} : given,
    body: isToken ? given : {},
    geoip: {},
  };
}

export const tenantOf = (issuer: string): object => ({ id: new URL(issuer).hostname });

export function clientOf(client: Client | undefined): object {
  const { clientId, clientName, client_metadata = {} } = (client ?? {}) as Partial<Client & OwnMetadata>;
  return { client_id: clientId ?? '', name: clientName ?? '', metadata: client_metadata };
}

export async function connectionOf({ connections }: Pick<EventParts, 'connections'>, name: string): Promise<object> {
  const found = await connections.find(name);
  return { id: found?.id ?? '', name, strategy: found?.strategy ?? 'auth0', metadata: {} };
}

/** As the management API shows them, without the fields that only it shows. */
export async function userOf(
  parts: Pick<EventParts, 'db' | 'connections'>,
  account: PresentedAccount & { hasLinked?: boolean },
): Promise<object> {
  // Most people have no other identity, and a caller that has read one says so.
  const [user] =
    account.hasLinked === false
      ? [(await makePresentUser(parts))({ account, linked: [] })]
      : await presentUsers(parts, [account]);
  const { blocked: _, logins_count: __, last_ip: ___, last_login: ____, ...rest } = user as Params;
  return { ...rest, multifactor: secondFactorsOf(account) };
}

/** A passkey is a sign-in of its own. */
const secondFactorsOf = ({ factors }: PresentedAccount): SecondFactor[] =>
  secondFactors.filter((type) => factors.includes(type));

/** By Auth0’s names for actions; a phone gets text messages here. */
function enrolledFactorsOf(account: PersonForActions): object[] {
  const found = secondFactorsOf(account).map((type) =>
    type === 'totp' ? { type: 'otp' } : type === 'phone' ? { type, method: 'sms' } : { type },
  );
  return account.hasRecoveryCodes ? [...found, { type: 'recovery-code' }] : found;
}

export function transactionOf(params: Params, protocol: string): object {
  const { acr_values, login_hint, prompt, redirect_uri, response_mode, response_type, scope, state, ui_locales } =
    params;
  const words = (value: unknown) => (typeof value === 'string' ? value.split(' ').filter(Boolean) : []);
  return {
    acr_values: words(acr_values),
    ...(login_hint !== undefined && { login_hint }),
    prompt: words(prompt),
    protocol,
    ...(redirect_uri !== undefined && { redirect_uri }),
    requested_scopes: words(scope),
    ...(response_mode !== undefined && { response_mode }),
    ...(response_type !== undefined && { response_type: words(response_type) }),
    ...(state !== undefined && { state }),
    ui_locales: words(ui_locales),
    locale: words(ui_locales)[0] ?? 'en',
    metadata: {},
  };
}

function methodsOf(amr: readonly string[] | undefined, at: number | undefined): object[] {
  const timestamp = new Date((at ?? Date.now() / 1000) * 1000).toISOString();
  return methodNames(amr).map((name) => ({ name, timestamp }));
}

export type SignIn = {
  account: PersonForActions;
  protocol: string;
  amr: readonly string[] | undefined;
  authTime: number | undefined;
  organization: string | undefined;
  loginsCount: number;
  /** Whether there is a session. */
  hasSession?: boolean;
};

/** The `event` of post-login. */
export async function postLoginEvent(parts: EventParts, ctx: KoaContextWithOIDC, signIn: SignIn): Promise<object> {
  const { issuer, organizations } = parts;
  const params = (ctx.oidc.params ?? {}) as Params;
  const { account, organization: id } = signIn;
  const [user, connection, organization] = await Promise.all([
    userOf(parts, account),
    connectionOf(parts, (signIn.hasSession && connectionOfSession(ctx.oidc.session!)) || account.connection),
    id === undefined ? undefined : organizations.find(id),
  ]);
  const refresh_token = refreshTokenOf(ctx);
  const audience = params.audience ?? params.resource;
  return {
    tenant: tenantOf(issuer),
    request: requestOf(issuer, ctx.req, params),
    client: clientOf(ctx.oidc.client),
    connection,
    user: { ...user, enrolledFactors: enrolledFactorsOf(account) },
    transaction: transactionOf(params, signIn.protocol),
    authentication: { methods: methodsOf(signIn.amr, signIn.authTime) },
    authorization: { roles: account.roles },
    stats: { logins_count: signIn.loginsCount },
    ...(signIn.hasSession && { session: sessionOf(ctx) }),
    ...(refresh_token && { refresh_token }),
    ...(typeof audience === 'string' && { resource_server: { identifier: audienceOf(audience) } }),
    ...(organization && {
      organization: {
        id: organization.id,
        name: organization.name,
        display_name: organization.displayName ?? organization.name,
        metadata: organization.metadata,
      },
    }),
  };
}
