/** The dependencies of the management API's operations. */
import type { Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import type { Client, ClientMetadata, Provider } from 'oidc-provider';
import type { AccountTickets } from '../accounts/account-ticket.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { VerificationMails } from '../accounts/verification-mail.ts';
import type { ExecutionStore } from '../actions/executions.ts';
import type { ActionPackages } from '../actions/packages.ts';
import type { PeopleActions } from '../actions/people.ts';
import type { ActionPool } from '../actions/pool.ts';
import type { ActionStore } from '../actions/store.ts';
import type { Sessions } from '../adapter/sessions.ts';
import type { Audit } from '../audit.ts';
import type { Changes } from '../changes.ts';
import type { clientMetadata } from '../clients/metadata.ts';
import type { ClientStore } from '../clients/store.ts';
import type { Database, Pool } from '../database.ts';
import type { FactorEvents } from '../factors/events.ts';
import type { FactorStore } from '../factors/store.ts';
import type { Imports } from '../imports/imports.ts';
import type { ProgressStore } from '../imports/progress.ts';
import type { Mac } from '../keys/mac.ts';
import type { RevokedTokens } from '../library/tokens/structured.ts';
import type { Letters } from '../mail/letters.ts';
import type { SendInvitation } from '../organizations/invitation-mail.ts';
import type { OrganizationStore } from '../organizations/store.ts';
import type { AttemptLimits } from '../protection/attempt-limits.ts';
import type { BreachedPasswords } from '../protection/breached/breached-passwords.ts';
import type { Report } from '../report.ts';
import type { ResourceStore } from '../resources/store.ts';
import type { PermissionStore } from '../roles/permissions.ts';
import type { ConnectionStore } from '../settings/connections.ts';
import type { CustomTextStore } from '../settings/custom-texts.ts';
import type { EmailTemplateStore } from '../settings/email-templates.ts';
import type { SettingsStore } from '../settings/store.ts';
import type { TemplateStore } from '../settings/templates.ts';
import type { UpstreamTokens } from '../upstream/tokens.ts';
import type { JobStore } from './job-store.ts';
import type { PreviewStore } from './preview-store.ts';
import { makeRunSearch, type RunSearch } from './run-search.ts';

/** Provided by the gate. */
export type ManagementParts = {
  issuer: string;
  /** All of ours, the primary one first. */
  issuers: string[];
  provider: Provider;
  db: Database;
  pool: Pool;
  searchPool: Pool;
  seal: Seal;
  changes: Changes;
  clients: ClientStore;
  revokedTokens: Pick<RevokedTokens, 'has'>;
  resources: ResourceStore;
  permissions: PermissionStore;
  organizations: OrganizationStore;
  settings: SettingsStore;
  accounts: AccountStore;
  passwordTickets: AccountTickets;
  verificationTickets: AccountTickets;
  verificationMails: Pick<VerificationMails, 'send'>;
  sendInvitation: SendInvitation;
  letters: Pick<Letters, 'preview' | 'linkRules'>;
  factors: FactorStore;
  factorEvents: FactorEvents;
  jobs: JobStore;
  previews: PreviewStore;
  imports: Pick<Imports, 'begin'>;
  importProgress: Pick<ProgressStore, 'find'>;
  exportLinks: Mac;
  sessions: Sessions;
  attemptLimits: AttemptLimits;
  breached: Pick<BreachedPasswords, 'isPossible'>;
  connections: ConnectionStore;
  upstreamTokens: Pick<UpstreamTokens, 'find'>;
  people: PeopleActions;
  actions: ActionStore;
  actionPool: ActionPool;
  actionPackages: ActionPackages;
  executions: ExecutionStore;
  templates: TemplateStore;
  emailTemplates: EmailTemplateStore;
  customTexts: CustomTextStore;
  log: Log;
  /** Told of changed clients and deleted people. */
  report: Pick<Report, 'clientCreated' | 'clientUpdated' | 'userDeleted'>;
  audit: Pick<Audit, 'add'>;
};

export type Parts = ManagementParts & {
  /** Throws an error with `error_description` if oidc-provider could not work with the client. */
  checkMetadata(metadata: ReturnType<typeof clientMetadata>): void;
  /** Makes and saves an initial access token. */
  issueRegistrationToken(ttlSeconds: number): Promise<string>;
  runSearch: RunSearch;
};

export function makeParts(given: ManagementParts): Parts {
  const { provider } = given;
  // Its constructor checks the metadata and throws InvalidClientMetadata; the typings omit its argument.
  const CheckedClient = provider.Client as unknown as new (metadata: ClientMetadata) => Client;
  const InitialAccessToken = provider.InitialAccessToken as unknown as new (given: {
    expiresIn: number;
  }) => { save(): Promise<string> };
  return {
    ...given,
    checkMetadata: (metadata) => void new CheckedClient(metadata),
    issueRegistrationToken: (expiresIn) => new InitialAccessToken({ expiresIn }).save(),
    runSearch: makeRunSearch(given.searchPool),
  };
}
