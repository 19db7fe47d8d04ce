/**
 * Applies the gate's part of a seed file. Idempotent: existing rows get the file's values, anything not in the file stays. Holds an
 * advisory lock, so that processes starting together do not interfere.
 */
import type { Seed, SeedApi, SeedClient, SeedConnection, SeedUser } from '@gatepost/contracts/seed';
import { grantTypes } from '@gatepost/contracts/seed-client';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import type { Seal } from '@gatepost/runtime/seal';
import { hashPassword, passwordMatches } from './accounts/password.ts';
import { accountClientId } from './clients/account-client-id.ts';
import { fapiProblem } from './clients/fapi.ts';
import { hashSecret, secretMatches } from './clients/secret.ts';
import { type Database, Prisma } from './database.ts';
import { type FactorName, factorNames } from './factors/types.ts';
import { applyOrganizations } from './organizations/seed.ts';
import type { Api } from './resources/store.ts';
import { applyRoles } from './roles/seed.ts';
import { sealSecrets } from './settings/inert.ts';
import { optionsProblem } from './upstream/options.ts';
import { isUpstream } from './upstream/strategies.ts';

/** The client that a seed is written with: the whole one, or a transaction of it. */
type Writer = Prisma.TransactionClient;

/** @throws Misconfigured naming what does not exist or is taken, such as the API or scope of a client grant. `management` is the built-in API. */
export async function applySeed(db: Database, given: Seed, management: Api, seal: Seal): Promise<void> {
  const seed = withManagement(given, management.identifier);
  await db.$transaction(
    async (writer) => {
      await writer.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('gatepost seed', 0))`;
      if (seed.settings) await applySettings(writer, seed.settings);
      for (const connection of seed.connections) await applyConnection(writer, connection, seal);
      for (const api of seed.apis) await applyApi(writer, api);
      const scopes = await scopesByApi(writer, management);
      checkScopes(seed, scopes);
      for (const client of seed.clients) await applyClient(writer, client);
      for (const [index, user] of seed.users.entries())
        await applyUser(writer, user).catch((error: unknown) => {
          throw isTaken(error)
            ? new Misconfigured('bad seed file', [
                `users[${index}]: another account of this connection has the email or phone_number`,
              ])
            : error;
        });
      await applyRoles(writer, seed, scopes);
      await applyOrganizations(writer, seed);
    },
    { timeout: 60_000, maxWait: 30_000 },
  );
}

/** `api/v2/` stands for the management API, whatever the gate's issuer is. */
function withManagement(seed: Seed, identifier: string): Seed {
  const named = <Given extends { audience: string }>(given: Given[]): Given[] =>
    given.map((each) => (each.audience === 'api/v2/' ? { ...each, audience: identifier } : each));
  return {
    ...seed,
    clients: seed.clients.map((client) => ({
      ...client,
      client_grants: named(client.client_grants),
      ...(client.refresh_token?.policies && {
        refresh_token: { ...client.refresh_token, policies: named(client.refresh_token.policies) },
      }),
    })),
    roles: seed.roles.map((role) => ({ ...role, permissions: named(role.permissions) })),
    users: seed.users.map((user) => ({ ...user, permissions: named(user.permissions) })),
  };
}

async function scopesByApi(db: Writer, management: Api): Promise<Map<string, string[]>> {
  const apis = [management, ...(await db.resourceServer.findMany({ select: { identifier: true, scopes: true } }))];
  return new Map(apis.map((api) => [api.identifier, (api.scopes as { value: string }[]).map(({ value }) => value)]));
}

/** A scope that its API lacks would never be granted, without anybody noticing. */
function checkScopes(seed: Seed, scopesOf: Map<string, string[]>): void {
  const check = (given: { audience: string; scope?: string[] | undefined }[], at: string) =>
    given.flatMap(({ audience, scope = [] }, index) => {
      const known = scopesOf.get(audience);
      if (!known) return [`${at}[${index}].audience: there is no API ${audience}`];
      return scope.flatMap((value, which) =>
        known.includes(value) ? [] : [`${at}[${index}].scope[${which}]: the API ${audience} has no scope ${value}`],
      );
    });
  const problems = [
    ...seed.clients.flatMap((client, index) => check(client.client_grants, `clients[${index}].client_grants`)),
    ...seed.clients.flatMap(({ refresh_token: refresh }, index) =>
      check(refresh?.policies ?? [], `clients[${index}].refresh_token.policies`),
    ),
    ...seed.roles.flatMap((role, index) => check(role.permissions, `roles[${index}].permissions`)),
    ...seed.users.flatMap((user, index) => check(user.permissions, `users[${index}].permissions`)),
  ];
  if (problems.length > 0) throw new Misconfigured('bad seed file', problems);
}

/** @throws Misconfigured naming each client's grant type that neither the gate nor one of its plug-ins has. */
export function checkGrantTypes(seed: Seed, ofPlugins: string[]): void {
  const known = [...grantTypes, ...ofPlugins];
  const problems = seed.clients.flatMap(({ grant_types: wanted }, client) =>
    wanted.flatMap((type, index) =>
      known.includes(type) ? [] : [`clients[${client}].grant_types[${index}]: no grant plug-in has ${type}`],
    ),
  );
  if (problems.length > 0) throw new Misconfigured('bad seed file', problems);
}

async function applySettings(db: Writer, settings: NonNullable<Seed['settings']>): Promise<void> {
  const { mfa_policy: policy, guardian_factors: named } = settings;
  const { mfa } = await db.settings.findUniqueOrThrow({ where: { id: 1 }, select: { mfa: true } });
  await db.settings.update({
    where: { id: 1 },
    data: {
      identifierFirst: settings.identifier_first,
      defaultAudience: settings.default_audience,
      allowSignup: settings.allow_signup,
      ...(settings.account_self_service && { accountSelfService: settings.account_self_service }),
      oidcConformantClaims: settings.oidc_conformant_claims,
      defaultIdTokenAlg: settings.default_id_token_alg,
      mfa: {
        ...(mfa as object),
        ...(policy && { policy }),
        ...(named && { factors: Object.fromEntries(factorNames.map((name) => [name, isNamed(name, named)])) }),
      },
    },
  });
}

/** Recovery codes come with any other factor. */
const isNamed = (name: FactorName, named: FactorName[]) => named.includes(name) || name === 'recovery-code';

async function applyConnection(db: Writer, { name, strategy, ...given }: SeedConnection, seal: Seal): Promise<void> {
  const problem = isUpstream(strategy) ? optionsProblem(strategy, given.options ?? {}) : undefined;
  if (problem) throw new Misconfigured('bad seed file', [`connection ${name}: ${problem}`]);
  const known = await db.connection.findUnique({ where: { name }, select: { inert: true } });
  const shown = {
    ...(given.display_name !== undefined && { display_name: given.display_name }),
    ...(given.show_as_button !== undefined && { show_as_button: given.show_as_button }),
  };
  const data = {
    strategy,
    ...(given.options && { options: sealSecrets(given.options, seal) }),
    ...(Object.keys(shown).length > 0 && { inert: { ...(known?.inert as object | undefined), ...shown } }),
  };
  await db.connection.upsert({ where: { name }, create: { id: `con_${name}`, name, ...data }, update: data });
}

async function applyApi(db: Writer, api: SeedApi): Promise<void> {
  const data = {
    name: api.name ?? api.identifier,
    tokenLifetime: api.token_lifetime,
    allowOfflineAccess: api.allow_offline_access,
    signingAlg: api.signing_alg,
    tokenDialect: api.token_dialect,
    skipConsent: api.skip_consent_for_verifiable_first_party_clients,
    enforcePolicies: api.enforce_policies,
    scopes: api.scopes.map((scope) => (typeof scope === 'string' ? { value: scope } : scope)) as Prisma.InputJsonArray,
  };
  const { identifier } = api;
  await db.resourceServer.upsert({
    where: { identifier },
    create: { id: `api_${identifier}`, identifier, ...data },
    update: data,
  });
}

async function applyClient(db: Writer, client: SeedClient): Promise<void> {
  const clientId = client.client_id;
  if (clientId === accountClientId)
    throw new Misconfigured('bad seed file', [`client ${clientId}: the gate has a client of its own with this id`]);
  const known = await db.client.findUnique({
    where: { clientId },
    select: { secretHashes: true, oidcMetadata: true, tokenEndpointAuthMethod: true, jwks: true },
  });
  const method = authMethod(client, known);
  const jwks = client.jwks ?? (method === 'private_key_jwt' ? known?.jwks : undefined);
  const data = {
    name: client.name ?? clientId,
    unusedUntil: null,
    isVouchedFor: true,
    appType: client.app_type,
    isFirstParty: client.is_first_party,
    ...(client.oidc_conformant_claims !== undefined && { oidcConformantClaims: client.oidc_conformant_claims }),
    secretHashes: secretHashes(client.client_secret, known?.secretHashes ?? []),
    callbacks: client.callbacks,
    allowedLogoutUrls: client.allowed_logout_urls,
    webOrigins: client.web_origins,
    allowedOrigins: client.allowed_origins,
    grantTypes: client.grant_types,
    tokenEndpointAuthMethod: method,
    jwks: (jwks as Prisma.InputJsonObject | null | undefined) ?? Prisma.DbNull,
    refreshToken: (client.refresh_token as Prisma.InputJsonObject | undefined) ?? Prisma.DbNull,
    resourceServerIdentifier: client.resource_server_identifier ?? null,
    oidcMetadata: {
      ...(known?.oidcMetadata as Prisma.InputJsonObject | undefined),
      is_token_endpoint_ip_header_trusted: client.is_token_endpoint_ip_header_trusted ?? false,
      ...(client.oidc_logout && backchannelLogout(client.oidc_logout)),
      ...(client.jwt_configuration && { id_token_signed_response_alg: client.jwt_configuration.alg }),
      ...(client.compliance_level && { compliance_level: client.compliance_level }),
      ...(client.mfa_policy && { mfa_policy: client.mfa_policy }),
      ...(client.organization_usage && { organization_usage: client.organization_usage }),
    },
  };
  const problem = fapiProblem(data);
  if (problem) throw new Misconfigured('bad seed file', [`client ${clientId}: ${problem}`]);
  await db.client.upsert({ where: { clientId }, create: { clientId, ...data }, update: data });
  for (const { audience, scope } of client.client_grants)
    await db.clientGrant.upsert({
      where: { clientId_audience: { clientId, audience } },
      create: { id: `cgr_${clientId}_${audience}`, clientId, audience, scope },
      update: { scope },
    });
}

/** A property left out of the JSON is not kept: an empty list removes the address. */
function backchannelLogout({ backchannel_logout_urls: [url], ...rest }: NonNullable<SeedClient['oidc_logout']>) {
  return {
    backchannel_logout_uri: url,
    backchannel_logout_session_required: url === undefined ? undefined : true,
    backchannel_logout_initiators: rest.backchannel_logout_initiators,
  } as Prisma.InputJsonObject;
}

/** The seed's secret is live; if it already is, it keeps its place, and so does the one beside it. */
function secretHashes(secret: string | undefined, live: string[]): string[] {
  if (secret === undefined || secretMatches(secret, live)) return live;
  return [hashSecret(secret), ...live].slice(0, 2);
}

/** A client that had a secret or keys before does not become public because the file no longer has them. */
function authMethod(
  client: SeedClient,
  known: { secretHashes: string[]; tokenEndpointAuthMethod: string } | null,
): string {
  if (client.token_endpoint_auth_method) return client.token_endpoint_auth_method;
  if (client.client_secret) return 'client_secret_post';
  if (client.jwks) return 'private_key_jwt';
  if (!known) return 'none';
  const { secretHashes, tokenEndpointAuthMethod: before } = known;
  return before === 'none' && secretHashes.length > 0 ? 'client_secret_post' : before;
}

const isTaken = (error: unknown) => error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';

const connectionOfPrefix: Record<string, string> = {
  auth0: 'Username-Password-Authentication',
  email: 'email',
  sms: 'sms',
};

async function applyUser(db: Writer, user: SeedUser): Promise<void> {
  const userId = user.user_id;
  const prefix = userId.split('|')[0]!;
  const known = await db.account.findUnique({ where: { userId }, select: { passwordHash: true } });
  const keepsPassword =
    user.password === undefined || (known?.passwordHash && (await passwordMatches(user.password, known.passwordHash)));
  const data = {
    connection: connectionOfPrefix[prefix] ?? prefix,
    email: user.email?.toLowerCase() ?? null,
    emailVerified: user.email_verified,
    nickname: user.nickname ?? null,
    name: user.name ?? null,
    givenName: user.given_name ?? null,
    familyName: user.family_name ?? null,
    picture: user.picture ?? null,
    phoneNumber: user.phone_number ?? null,
    phoneVerified: user.phone_number !== undefined,
    ...(keepsPassword ? {} : { passwordHash: await hashPassword(user.password!) }),
  };
  await db.account.upsert({ where: { userId }, create: { userId, ...data }, update: data });
}
