/** The parts of the gate, from top to bottom: everything that is opened, in order; the stack closes it again. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { refuseDemo } from '@gatepost/contracts/demo-secrets';
import { parseSeed } from '@gatepost/contracts/seed';
import { makeGuard } from '@gatepost/runtime/address';
import type { ReadyCheck } from '@gatepost/runtime/checks';
import { listen } from '@gatepost/runtime/listen';
import { type Log, logOfModule } from '@gatepost/runtime/log';
import { openMetrics, type Registry } from '@gatepost/runtime/metrics';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { openOps } from '@gatepost/runtime/ops';
import { checkRedisWrites } from '@gatepost/runtime/redis';
import type { Start } from '@gatepost/runtime/run';
import { makeSeal } from '@gatepost/runtime/seal';
import type { Router } from 'express';
import type { Provider } from 'oidc-provider';
import { makeAccountTickets } from './accounts/account-ticket.ts';
import { addressCodes } from './accounts/addressed-code.ts';
import { makeAuthenticate } from './accounts/authenticate.ts';
import { makeChangePasswordRoutes } from './accounts/change-password.ts';
import { makeCheckCode } from './accounts/check-code.ts';
import { makeEndAccess } from './accounts/end-access.ts';
import { openLastLogins } from './accounts/last-login.ts';
import { makeLockout } from './accounts/lockout.ts';
import { makeMessageLimits } from './accounts/message-limits.ts';
import { makeOneTimeCodes } from './accounts/one-time-code.ts';
import { makeSendPasswordMail } from './accounts/password-mail.ts';
import { makeRate } from './accounts/rate.ts';
import { makeSignUp } from './accounts/signup.ts';
import { makeAccountStore } from './accounts/store.ts';
import { makeVerificationMails } from './accounts/verification-mail.ts';
import { makeVerifyEmailRoutes } from './accounts/verify-email.ts';
import { makeCredentialsExchange } from './actions/credentials-exchange.ts';
import { makeExecutionStore } from './actions/executions.ts';
import { readActions } from './actions/folder.ts';
import { openActionMetrics } from './actions/metrics.ts';
import { makeAskOutside } from './actions/outside.ts';
import { makePeopleActions } from './actions/people.ts';
import { openActionPool } from './actions/pool.ts';
import { makePostLogin } from './actions/post-login.ts';
import { makeActionRunner } from './actions/runner.ts';
import { makeActionStore } from './actions/store.ts';
import { makeAdapterFactory } from './adapter/adapter.ts';
import { makeKnownGrants } from './adapter/known-grants.ts';
import { makeSessions } from './adapter/sessions.ts';
import { makeAnswer, makeServer } from './app.ts';
import { openAudit } from './audit.ts';
import { makeConsentStore } from './authorization/consents.ts';
import { makeTicketStore } from './authorization/login-ticket.ts';
import { openBackground } from './background.ts';
import { openChanges } from './changes.ts';
import { makeClientStore } from './clients/store.ts';
import { makeClientThrottle } from './clients/throttle.ts';
import { authDatabaseOf, type Env, outboxFolder } from './config.ts';
import { openDatabase } from './database.ts';
import { makeDatabaseConnectionRoutes } from './database-connections/routes.ts';
import { refuseDemoSecrets } from './demo-secrets.ts';
import { makeDescriptionRoutes } from './description/routes.ts';
import { type EventSink, noEvents, openEventSink } from './event-sink.ts';
import { makeExportRoute } from './exports/exports.ts';
import { makeFactorEvents } from './factors/events.ts';
import { makeMfaRoutes } from './factors/mfa-routes.ts';
import { makeRequireSecondFactor } from './factors/mfa-token.ts';
import { makePendingStore } from './factors/pending.ts';
import { makeProve } from './factors/proof.ts';
import { makeSendFactorCode } from './factors/send-code.ts';
import { makeFactorStore } from './factors/store.ts';
import { type Front, frontsOf } from './fronts.ts';
import { makeFastPath } from './grants/fast-path.ts';
import { loadGrantPlugins, registerGrants } from './grants/index.ts';
import { makeOutsideFetch } from './http/outside-fetch.ts';
import { makeStartPage } from './http/start-page.ts';
import { type Imports, openImports } from './imports/imports.ts';
import { makeImportProgress } from './imports/progress.ts';
import { makeCommonContextMaker } from './interaction/common-context.ts';
import { makePageMemory } from './interaction/page-memory.ts';
import { makeInteractionRoutes } from './interaction/routes.ts';
import { guardUserCodes } from './interaction/user-codes.ts';
import { deriveKey } from './keys/derived.ts';
import { keepKeysCurrent } from './keys/keep-current.ts';
import { makeMac } from './keys/mac.ts';
import { makePublishedAlgs } from './keys/published.ts';
import { checkSecretsKey, ensureSigningKeys, loadSigningKeys } from './keys/signing-keys.ts';
import { throttleClientAuthentication } from './library/client-authentication.ts';
import { discoverLanguages } from './library/discovered-languages.ts';
import { publishUsedKeys } from './library/published-keys.ts';
import { shareSuccessors } from './library/tokens/refresh.ts';
import { detectReplays } from './library/tokens/replay-detection.ts';
import { endWithSources } from './library/tokens/sources.ts';
import { findStructuredTokens, makeRevokedTokens } from './library/tokens/structured.ts';
import { makeV2LogoutRoutes } from './logout/v2-logout.ts';
import { makeTellOfChange } from './mail/change-notice.ts';
import { makeLetters } from './mail/letters.ts';
import { announceToDeveloper, hasMailbox, openMailbox } from './mail/mailbox.ts';
import { openPostBox } from './mail/post-box.ts';
import { makeTextSender } from './mail/text-sender.ts';
import { makeJobStore } from './management/job-store.ts';
import { makeManagement } from './management/management.ts';
import { makePreviewStore } from './management/preview-store.ts';
import { makePreviewRoute } from './management/previews.ts';
import { checkMigrated, migrateAuth } from './migrations.ts';
import { openAnnouncements } from './organizations/announce.ts';
import { makeSendInvitation } from './organizations/invitation-mail.ts';
import { makeInvitationStore } from './organizations/invitations.ts';
import { makeOrganizationStore } from './organizations/store.ts';
import { makeOpenAccount } from './passwordless/account.ts';
import { makeLinks } from './passwordless/link.ts';
import { makeSendMessage } from './passwordless/message.ts';
import { makePasswordlessRoutes } from './passwordless/routes.ts';
import { makeSendCode } from './passwordless/send-code.ts';
import { makeIsBreached } from './protection/breached/source.ts';
import { makeChallengeRoutes } from './protection/challenge-routes.ts';
import { makeProtection } from './protection/protection.ts';
import { makeProvider } from './provider.ts';
import { makeProviderPages } from './provider-pages.ts';
import { startPurge } from './purge.ts';
import { openRedis } from './redis.ts';
import { makeReport, makeRequestObserver, observeProvider, openCounters, type TokensIssued } from './report.ts';
import { managementApi, managementAudiences } from './resources/management-api.ts';
import { makeResourceStore } from './resources/store.ts';
import { makePermissionStore } from './roles/permissions.ts';
import { applySeed, checkGrantTypes } from './seed.ts';
import { accountPages } from './self-service/client.ts';
import { makeAccountRoutes } from './self-service/routes.ts';
import { makeConnectionStore } from './settings/connections.ts';
import { makeCustomTextStore } from './settings/custom-texts.ts';
import { makeEmailTemplateStore } from './settings/email-templates.ts';
import { makeSettingsStore } from './settings/store.ts';
import { makeTemplateStore } from './settings/templates.ts';
import { makeAttempts } from './upstream/attempts.ts';
import { makeRemotes } from './upstream/discovery.ts';
import { makeLinking } from './upstream/link.ts';
import { federateLogouts, makeFederatedLogout } from './upstream/logout.ts';
import { makeUpstreamRoutes } from './upstream/routes.ts';
import { makeUpstream } from './upstream/sign-in.ts';
import { makeUpstreamTokens } from './upstream/tokens.ts';

/** Where it listens, at `ISSUER` first. */
export type Gate = { listening: { issuer: string; port: number }[]; opsPort: number };

export async function startGate(start: Start<Env>): Promise<Gate> {
  const ground = await openGround(start);
  const outlets = await openOutlets(ground);
  const stores = { ...makeStores(ground), ...openActions({ ...ground, ...outlets }) };
  const imports = ground.stack.use(openImports({ ...ground, ...stores, log: logOfModule(ground.log, 'imports') }));
  const listening: Gate['listening'] = [];
  for (const front of ground.fronts)
    listening.push({
      issuer: front.issuer,
      port: await openFront({ ...ground, ...outlets, ...stores, imports, ...front }),
    });
  if (ground.env.ORGANIZATION_ACCOUNTS === 'on') ground.stack.use(await openAnnouncements(ground));
  ground.stack.use(startPurge(ground.pool, logOfModule(ground.log, 'stores'), ground.registry));
  return { listening, opsPort: await serveOps({ ...ground, ...outlets }, start.stopping) };
}

/** One issuer: what names it in tokens, links and cookies is made for it; the stores behind it are the same for each. */
async function openFront(shared: Shared): Promise<number> {
  const parts: Parts = { ...shared, ...makeSteps(shared) };
  const { provider, tokensIssued } = await makeGateProvider(parts);
  const routers = makeRouters(parts, provider);
  const rotateAfterDays = parts.env.KEY_ROTATION_DAYS;
  parts.stack.use(keepKeysCurrent({ ...parts, log: logOfModule(parts.log, 'keys'), provider, rotateAfterDays }));
  return serve(parts, provider, routers, tokensIssued);
}

type Ground = Awaited<ReturnType<typeof openGround>>;
type Outlets = Awaited<ReturnType<typeof openOutlets>>;
type Stores = ReturnType<typeof makeStores> & ReturnType<typeof openActions>;
type Shared = Ground & Outlets & Stores & { imports: Imports } & Front;
type Parts = Shared & ReturnType<typeof makeSteps>;

/** The databases, with everything that must be in them before anything else reads them. */
async function openGround({ env, log, stack }: Start<Env>) {
  const databaseUrls = authDatabaseOf(env);
  const seal = makeSeal(env.SECRETS_KEY, env.SECRETS_KEY_OTHER);
  const registry = openMetrics();
  // Before anything is opened: a bad seed file should cost nothing.
  const seeds = env.SEED_FILE.map((file) => parseSeed(readFileSync(file, 'utf8'), file));
  const ofFolder = readActions(env.ACTIONS_DIR);
  const fronts = frontsOf(env);
  const isProduction = env.NODE_ENV === 'production';
  if (isProduction) seeds.forEach(refuseDemo);

  if (env.MIGRATE_AT_START === 'on') {
    const { applied } = await migrateAuth(databaseUrls.directUrl);
    if (applied.length > 0) log.info({ applied }, 'migrated');
  } else await checkMigrated(databaseUrls.url);
  const { pool, db, searchPool, onOwnWrite } = stack.use(
    openDatabase(databaseUrls, env.STORE_TIMEOUT_MS, logOfModule(log, 'stores')),
  );
  const redis = stack.adopt(
    await openRedis(env.REDIS_URL, env.STORE_TIMEOUT_MS / 2, logOfModule(log, 'stores')),
    (opened) => void opened.disconnect(),
  );
  const changes = stack.use(await openChanges(databaseUrls.directUrl, pool, logOfModule(log, 'stores')));
  await checkSecretsKey(pool, seal);
  await ensureSigningKeys(pool, seal);
  for (const seed of seeds) await applySeed(db, seed, managementApi(env.ISSUER), seal);
  if (isProduction) await refuseDemoSecrets(pool);

  const prefix = `${env.REDIS_KEY_PREFIX}auth:`;
  const keyFor = (purpose: string) => deriveKey(env.SECRETS_KEY, purpose);
  /** Ours first, and the one that counts too while SECRETS_KEY changes. */
  const keysFor = (purpose: string) =>
    [env.SECRETS_KEY, env.SECRETS_KEY_OTHER].flatMap((key) => (key ? [deriveKey(key, purpose)] : []));
  return {
    env,
    log,
    stack,
    registry,
    fronts,
    issuers: fronts.map(({ issuer }) => issuer),
    seal,
    keyFor,
    keysFor,
    pool,
    db,
    searchPool,
    onOwnWrite,
    redis,
    prefix,
    changes,
    seeds,
    ofFolder,
  };
}

/** Outputs: the audit log, metrics, the webhooks, mail, and background work. */
async function openOutlets({ env, log, stack, registry, pool }: Ground) {
  const audit = stack.use(openAudit(pool, logOfModule(log, 'stores')));
  const lastLogins = stack.use(openLastLogins(pool, logOfModule(log, 'stores')));
  const sink = stack.use(await openSink(env, logOfModule(log, 'events'), registry));
  const outside = stack.adopt(openPostBox({ ...postBoxOptions(env), ...textSender(env) }), (opened) => opened.close());
  const announce = env.NODE_ENV === 'development' ? announceToDeveloper : undefined;
  const mailbox = hasMailbox(env) ? openMailbox(announce) : undefined;
  const postBox = mailbox?.around(outside) ?? outside;
  const background = stack.use(openBackground(logOfModule(log, 'mail')));
  const isBreached = makeIsBreached(env, logOfModule(log, 'protection'));
  const counters = openCounters(registry);
  const observe = makeRequestObserver(logOfModule(log, 'http'), registry);
  return { audit, counters, observe, lastLogins, sink, postBox, mailbox, background, isBreached };
}

/** @throws Misconfigured when EVENTS_ACCOUNT asks for events and there is no AMQP_URL to publish them to. */
async function openSink(env: Env, log: Log, registry: Registry): Promise<EventSink> {
  if (!env.EVENTS_ACCOUNT) return noEvents;
  if (!env.AMQP_URL) throw new Misconfigured('bad environment', ['EVENTS_ACCOUNT is set, but AMQP_URL is not']);
  return openEventSink({ amqpUrl: env.AMQP_URL, issuer: env.ISSUER, account: env.EVENTS_ACCOUNT, log, registry });
}

function postBoxOptions(env: Env) {
  const isFolder = env.MAIL_URL.startsWith('file:');
  return { mailUrl: env.MAIL_URL, from: env.MAIL_FROM, outbox: isFolder ? fileURLToPath(env.MAIL_URL) : outboxFolder };
}

/** @throws when the provider’s form lacks a sender. */
function textSender({ SMS_URL: url, SMS_FROM: from, SMS_FORMAT: format, OUTBOUND_ALLOWED_NETWORKS }: Env) {
  if (url === undefined) return {};
  if (format === 'twilio' && from === undefined)
    throw new Misconfigured('bad environment', ['SMS_URL is set, but SMS_FROM is not, which the form of Twilio needs']);
  const ask = makeOutsideFetch(makeGuard(OUTBOUND_ALLOWED_NETWORKS));
  return {
    sendText: makeTextSender({ url, from, format, ask: ask as (url: URL, init: RequestInit) => Promise<Response> }),
  };
}

/** The stores: configuration, people, and short-lived state. */
function makeStores({ env, issuers, keysFor, seal, pool, db, redis, prefix, changes, onOwnWrite }: Ground) {
  const connections = makeConnectionStore(db, changes);
  const accounts = makeAccountStore(db, pool);
  const knownGrants = makeKnownGrants({ pool, changes, onOwnWrite });
  const factorCodes = makeOneTimeCodes(redis, prefix, keysFor('one-time codes'));
  const codes = addressCodes(factorCodes, accounts, async (name) =>
    (await connections.find(name))?.strategy === 'sms' ? 'sms' : 'email',
  );
  return {
    clients: makeClientStore(db, changes),
    resources: makeResourceStore(db, changes, managementApi(env.ISSUER), managementAudiences(issuers)),
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

/** The tenant’s own code; no process is started before one of it runs. */
function openActions(parts: Ground & Pick<Outlets, 'audit'>) {
  const { env, stack, registry, redis, prefix } = parts;
  const log = logOfModule(parts.log, 'actions');
  const actionPool = stack.use(
    openActionPool({
      limits: { timeoutMs: env.ACTIONS_TIMEOUT_MS, memoryBytes: env.ACTIONS_MEMORY_MB * 1024 * 1024 },
      outside: makeAskOutside(makeGuard(env.OUTBOUND_ALLOWED_NETWORKS), env.ACTIONS_ALLOWED_HOSTS),
      onStart: ({ isSeparate }) => log.info({ network_namespace: isSeparate }, 'actions run in processes of their own'),
    }),
  );
  const actions = makeActionStore({ ...parts, present: (versions) => actionPool.keepOnly(versions) });
  const executions = makeExecutionStore(redis, prefix);
  const onFault = env.ACTIONS_ON_FAULT;
  const metrics = openActionMetrics(registry);
  const runner = makeActionRunner({ ...parts, actions, pool: actionPool, executions, log, onFault, metrics });
  return { actions, actionPool, executions, runner };
}

/** Steps that several grants and pages share. */
function makeSteps(parts: Shared) {
  const { keyFor, keysFor, accounts, connections, settings, codes } = parts;
  const sending = {
    ...parts,
    limits: parts.messageLimits,
    letters: makeLetters({ ...parts, log: logOfModule(parts.log, 'mail') }),
  };
  const sendMessage = makeSendMessage(sending);
  const verificationMails = makeVerificationMails(sending);
  const protection = makeProtection({
    ...sending,
    challengeMac: makeMac(keysFor('challenges')),
    log: logOfModule(parts.log, 'protection'),
  });
  const upstream = makeUpstream(parts);
  const factorEvents = makeFactorEvents({ ...parts, log: logOfModule(parts.log, 'sign-in') });
  const people = makePeopleActions(parts);
  return {
    letters: sending.letters,
    people,
    postLogin: makePostLogin(parts),
    credentialsExchange: makeCredentialsExchange(parts),
    commonContext: makeCommonContextMaker(parts),
    report: makeReport({ ...parts, log: logOfModule(parts.log, 'sign-in'), loginKey: keyFor('logins in the log') }),
    csrf: makeMac(keysFor('csrf')),
    exportLinks: makeMac(keysFor('exports of users')),
    ...protection,
    authenticate: makeAuthenticate({ accounts, ...protection }),
    checkCode: makeCheckCode({ accounts, connections, codes, ...protection }),
    sendPasswordMail: makeSendPasswordMail(sending),
    verificationMails,
    sendInvitation: makeSendInvitation(sending),
    tellOfChange: makeTellOfChange(sending),
    sendMessage,
    sendCode: makeSendCode({ codes, sendMessage }),
    prove: makeProve(parts),
    requireSecondFactor: makeRequireSecondFactor({ ...parts, factorEvents }),
    sendFactorCode: makeSendFactorCode(sending),
    factorEvents,
    openAccount: makeOpenAccount(accounts, settings, connections, people),
    signUp: makeSignUp({ accounts, settings, verificationMails, people, ...protection }),
    upstream,
    linking: makeLinking({ ...parts, management: managementApi(parts.env.ISSUER).identifier, upstream }),
    federated: makeFederatedLogout({ ...parts, log: logOfModule(parts.log, 'sign-in') }),
  };
}

/** The library with all our additions; the middleware runs in the order in which it is added here. */
async function makeGateProvider(parts: Parts) {
  const { env, issuer, keyFor, keysFor, db, seal, redis, prefix, accounts, commonContext, revokedTokens } = parts;
  const provider = makeProvider({
    ...parts,
    guard: makeGuard(env.OUTBOUND_ALLOWED_NETWORKS),
    adapter: makeAdapterFactory({ ...parts, redisPrefix: prefix, builtInClients: [accountPages(parts)] }),
    signingKeys: await loadSigningKeys(db, seal),
    cookieKeys: keysFor('cookies'),
    dpopNonceSecret: keyFor('dpop nonces'),
    pages: makeProviderPages(commonContext, parts.pageMemory),
  });
  discoverLanguages(provider, parts.settings);
  publishUsedKeys(provider, makePublishedAlgs(parts.pool));
  shareSuccessors(provider, keyFor('refresh tokens'));
  findStructuredTokens(provider, parts.issuers, revokedTokens);
  detectReplays(provider, redis, prefix);
  endWithSources(provider, { redis, prefix, revoked: revokedTokens });
  throttleClientAuthentication(provider, parts.clientThrottle);
  const { tokensIssued } = observeProvider(provider, { ...parts, log: logOfModule(parts.log, 'tokens') });
  federateLogouts(provider, parts.federated);
  guardUserCodes(provider, parts.lockout, parts.pageMemory);
  const plugins = await loadGrantPlugins(env.GRANT_PLUGINS, { findAccount: accounts.find, issuer });
  for (const seed of parts.seeds)
    checkGrantTypes(
      seed,
      plugins.map(({ grantType }) => grantType),
    );
  registerGrants({ ...parts, provider, plugins });
  return { provider, tokensIssued };
}

/** Everything that the library does not answer. */
function makeRouters(parts: Parts, provider: Provider): Router[] {
  const links = makeLinks({ ...parts, provider });
  return [
    makeInteractionRoutes({ ...parts, provider }),
    makeAccountRoutes({
      ...parts,
      provider,
      endAccess: makeEndAccess(parts.pool),
      management: managementApi(parts.env.ISSUER).identifier,
    }),
    makeUpstreamRoutes({ ...parts, provider }),
    makeManagement({ ...parts, provider, log: logOfModule(parts.log, 'management') }),
    makeMfaRoutes({ ...parts, provider }),
    makePasswordlessRoutes({ ...parts, provider, sendLink: links.sendLink }),
    links.router,
    makeDatabaseConnectionRoutes({ ...parts, provider }),
    makeChallengeRoutes({ ...parts, provider }),
    makeChangePasswordRoutes({
      ...parts,
      provider,
      endAccess: makeEndAccess(parts.pool),
    }),
    makeVerifyEmailRoutes({ ...parts, provider }),
    makeV2LogoutRoutes({ ...parts, provider }),
    makePreviewRoute(parts.previews),
    makeExportRoute(parts),
    makeDescriptionRoutes(parts),
    makeStartPage({ ...parts, management: managementApi(parts.env.ISSUER).identifier, stores: storesOf(parts) }),
  ];
}

async function serve(parts: Parts, provider: Provider, routers: Router[], tokensIssued: TokensIssued): Promise<number> {
  const { env, log, stack, observe, issuer, strict, certificate } = parts;
  const server = makeServer(makeAnswer({ ...parts, log: logOfModule(log, 'http'), provider, routers }), {
    head: { issuer: new URL(issuer), trustedProxies: env.TRUSTED_PROXIES, log },
    observe,
    limits: { headMs: env.REQUEST_HEAD_TIMEOUT_MS, requestMs: env.REQUEST_TIMEOUT_MS },
    strict,
    certificate,
    fastPath: makeFastPath({ ...parts, provider, tokensIssued }),
  });
  // A login may have to wait ten seconds for others.
  const { port } = stack.use(await listen(server, { host: env.HOST, port: parts.port, closeWithinMs: 15_000 }));
  return port;
}

/** What must answer for the gate to be of use. */
const storesOf = ({
  pool,
  redis,
  prefix,
  changes,
}: Pick<Ground, 'pool' | 'redis' | 'prefix' | 'changes'>): Record<string, ReadyCheck> => ({
  postgresql: () => pool.query('SELECT 1'),
  changes() {
    if (!changes.isConnected()) throw new Error('nothing is heard of changes in PostgreSQL');
  },
  redis: () => checkRedisWrites(redis, prefix),
});

async function serveOps(ground: Ground & Pick<Outlets, 'mailbox'>, stopping: AbortSignal | undefined): Promise<number> {
  const { env, log, stack, registry, mailbox } = ground;
  const ops = stack.use(
    await openOps({
      host: env.HOST,
      port: env.AUTH_OPS_PORT,
      registry,
      log,
      token: env.OPS_TOKEN,
      ready: storesOf(ground),
      stopping,
      more: mailbox?.answer,
    }),
  );
  return ops.port;
}
