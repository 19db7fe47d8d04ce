/** The stores of the gate: configuration, people, and short-lived state. */
import { makeGuard } from '@gatepost/runtime/address';
import { makeAccountTickets } from './accounts/account-ticket.ts';
import { addressCodes } from './accounts/addressed-code.ts';
import { makeLockout } from './accounts/lockout.ts';
import { makeMessageLimits } from './accounts/message-limits.ts';
import { makeOneTimeCodes } from './accounts/one-time-code.ts';
import { makeRate } from './accounts/rate.ts';
import { makeAccountStore } from './accounts/store.ts';
import { makeKnownGrants } from './adapter/known-grants.ts';
import { makeSessions } from './adapter/sessions.ts';
import { makeConsentStore } from './authorization/consents.ts';
import { makeTicketStore } from './authorization/login-ticket.ts';
import { makeClientStore } from './clients/store.ts';
import { makeClientThrottle } from './clients/throttle.ts';
import { makePendingStore } from './factors/pending.ts';
import { makeFactorStore } from './factors/store.ts';
import { makeImportProgress } from './imports/progress.ts';
import type { Infrastructure } from './infrastructure.ts';
import { makePageMemory } from './interaction/page-memory.ts';
import { makeRevokedTokens } from './library/tokens/structured.ts';
import { makeJobStore } from './management/job-store.ts';
import { makePreviewStore } from './management/preview-store.ts';
import { makeInvitationStore } from './organizations/invitations.ts';
import { makeOrganizationStore } from './organizations/store.ts';
import { managementApi, managementAudiences } from './resources/management-api.ts';
import { mfaApi, mfaAudiences } from './resources/mfa-api.ts';
import { makeResourceStore } from './resources/store.ts';
import { makePermissionStore } from './roles/permissions.ts';
import { makeConnectionStore } from './settings/connections.ts';
import { makeCustomTextStore } from './settings/custom-texts.ts';
import { makeEmailTemplateStore } from './settings/email-templates.ts';
import { makeSettingsStore } from './settings/store.ts';
import { makeTemplateStore } from './settings/templates.ts';
import { makeAttempts } from './upstream/attempts.ts';
import { makeRemotes } from './upstream/discovery.ts';
import { makeUpstreamTokens } from './upstream/tokens.ts';

export type Stores = ReturnType<typeof makeStores>;

export function makeStores({
  env,
  issuers,
  keysFor,
  seal,
  pool,
  db,
  redis,
  prefix,
  changes,
  onOwnWrite,
}: Infrastructure) {
  const connections = makeConnectionStore(db, changes);
  const accounts = makeAccountStore(db, pool);
  const knownGrants = makeKnownGrants({ pool, changes, onOwnWrite });
  const factorCodes = makeOneTimeCodes(redis, prefix, keysFor('one-time codes'));
  const codes = addressCodes(factorCodes, accounts, async (name) =>
    (await connections.find(name))?.strategy === 'sms' ? 'sms' : 'email',
  );
  return {
    clients: makeClientStore(db, changes),
    resources: makeResourceStore(
      db,
      changes,
      { api: managementApi(env.ISSUER), names: managementAudiences(issuers) },
      { api: mfaApi(env.ISSUER), names: mfaAudiences(issuers) },
    ),
    permissions: makePermissionStore(pool, changes, managementApi(env.ISSUER).identifier),
    organizations: makeOrganizationStore(db, pool, changes),
    invitations: makeInvitationStore(db, pool),
    settings: makeSettingsStore(db, changes),
    connections,
    templates: makeTemplateStore(db, changes),
    emailTemplates: makeEmailTemplateStore(db, changes),
    customTexts: makeCustomTextStore(db, changes),
    accounts,
    knownGrants,
    consents: makeConsentStore(pool),
    tickets: makeTicketStore(redis, prefix, accounts),
    passwordTickets: makeAccountTickets('password-ticket', { redis, prefix, accounts }),
    verificationTickets: makeAccountTickets('verification-ticket', { redis, prefix, accounts }),
    jobs: makeJobStore(redis, prefix),
    importProgress: makeImportProgress(redis, prefix),
    previews: makePreviewStore(redis, prefix),
    revokedTokens: makeRevokedTokens(redis, prefix),
    rate: makeRate(redis, prefix),
    messageLimits: makeMessageLimits(redis, prefix),
    clientThrottle: makeClientThrottle(redis, prefix),
    lockout: makeLockout(redis, prefix),
    sessions: makeSessions(redis, prefix),
    pageMemory: makePageMemory(redis, prefix, seal),
    attempts: makeAttempts(redis, prefix, seal),
    upstreamTokens: makeUpstreamTokens(pool, seal),
    remotes: makeRemotes({ guard: makeGuard(env.OUTBOUND_ALLOWED_NETWORKS), seal }),
    codes,
    factorCodes,
    factors: makeFactorStore({ db, pool, seal }),
    pending: makePendingStore(redis, prefix, seal),
  };
}
