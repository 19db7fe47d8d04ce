/** The parts list of the management API: what each resource works with. */
import type { Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import type { Router } from 'express';
import type { Client, ClientMetadata, Provider } from 'oidc-provider';
import { makeEndAccess } from '../accounts/end-access.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Audit } from '../audit.ts';
import type { Changes } from '../changes.ts';
import type { ClientStore } from '../clients/store.ts';
import type { Database, Pool } from '../database.ts';
import type { RevokedTokens } from '../library/tokens/structured.ts';
import type { ResourceStore } from '../resources/store.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { TemplateStore } from '../settings/templates.ts';
import { makeManagementApi } from './api.ts';
import { makeAuthenticate } from './authenticate.ts';
import { makeBrandingRoutes } from './branding.ts';
import { makeClientGrantRoutes } from './client-grants.ts';
import { type ClientEvents, makeClientRoutes } from './clients.ts';
import { makeConnectionRoutes } from './connections.ts';
import { makeDeviceCredentialRoutes } from './device-credentials.ts';
import { makeGrantRoutes } from './grants.ts';
import { makeLogRoutes } from './logs.ts';
import { makeRegistrationTokenRoutes } from './registration-tokens.ts';
import { makeResourceServerRoutes } from './resource-servers.ts';
import type { Route } from './route.ts';
import { makeSigningKeyRoutes } from './signing-keys.ts';
import { makeTenantSettingsRoutes } from './tenant-settings.ts';
import { makeUserRoutes } from './users.ts';

export type ManagementParts = {
  issuer: string;
  provider: Provider;
  db: Database;
  pool: Pool;
  seal: Seal;
  changes: Changes;
  clients: ClientStore;
  revokedTokens: Pick<RevokedTokens, 'has'>;
  resources: ResourceStore;
  settings: SettingsStore;
  accounts: AccountStore;
  connections: ConnectionStore;
  templates: TemplateStore;
  log: Log;
  events: ClientEvents;
  audit: Pick<Audit, 'add'>;
};

/** An Express router for `/api/v2`, to be used ahead of the provider. */
export function makeManagement(parts: ManagementParts): Router {
  return makeManagementApi({
    routes: makeRoutes(parts),
    authenticate: makeAuthenticate(parts),
    noteOperation: ({ clientId, ip, ...details }) => parts.audit.add({ type: 'sapi', clientId, ip, details }),
    log: parts.log,
  });
}

/** Every operation; docs/reference/management-api.md says what each can be turned into. */
export function makeRoutes(parts: ManagementParts): Route[] {
  const { provider } = parts;
  // Its constructor checks the metadata and throws InvalidClientMetadata; the types leave its argument out.
  const CheckedClient = provider.Client as unknown as new (metadata: ClientMetadata) => Client;
  const InitialAccessToken = provider.InitialAccessToken as unknown as new (given: {
    expiresIn: number;
  }) => { save(): Promise<string> };
  const endAccess = makeEndAccess(parts.pool);
  return [
    ...makeClientRoutes({
      ...parts,
      checkMetadata: (metadata) => void new CheckedClient(metadata),
    }),
    ...makeClientGrantRoutes(parts),
    ...makeResourceServerRoutes(parts),
    ...makeUserRoutes({ ...parts, endAccess }),
    ...makeConnectionRoutes(parts),
    ...makeDeviceCredentialRoutes(parts.db),
    ...makeGrantRoutes({ ...parts, endAccess }),
    ...makeLogRoutes(parts.db),
    ...makeBrandingRoutes(parts.templates),
    ...makeTenantSettingsRoutes(parts),
    ...makeSigningKeyRoutes(parts),
    ...makeRegistrationTokenRoutes((expiresIn) => new InitialAccessToken({ expiresIn }).save()),
  ];
}
