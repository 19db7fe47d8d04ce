/** The parts of the gate, from top to bottom, in the order in which they are opened; the stack closes them again. */

import { inSeedFile } from '@gatepost/contracts/seed';
import { gateRequestsMs } from '@gatepost/contracts/stopping';
import { makeGuard } from '@gatepost/runtime/address';
import type { ReadyCheck } from '@gatepost/runtime/checks';
import { type Listening, listen } from '@gatepost/runtime/listen';
import { logOfModule } from '@gatepost/runtime/log';
import { openOps } from '@gatepost/runtime/ops';
import { checkPostgresWrites } from '@gatepost/runtime/postgres';
import { checkRedisWrites } from '@gatepost/runtime/redis';
import type { Start } from '@gatepost/runtime/run';
import type { Router } from 'express';
import type { Provider } from 'oidc-provider';
import { makeAuthenticate } from './accounts/authenticate.ts';
import { makeChangePasswordRoutes } from './accounts/change-password.ts';
import { makeCheckCode } from './accounts/check-code.ts';
import { makeSendPasswordMail } from './accounts/password-mail.ts';
import { makeSignUp } from './accounts/signup.ts';
import { makeVerificationMails } from './accounts/verification-mail.ts';
import { makeVerifyEmailRoutes } from './accounts/verify-email.ts';
import { makeCredentialsExchange } from './actions/credentials-exchange.ts';
import { openActions } from './actions/open.ts';
import { makePeopleActions } from './actions/people.ts';
import { makePostLogin } from './actions/post-login.ts';
import { makeAdapterFactory } from './adapter/adapter.ts';
import { makeAnswer, makeServer } from './app.ts';
import { makeOpenRegistration } from './clients/open-registration.ts';
import type { Env } from './config.ts';
import { makeDatabaseConnectionRoutes } from './database-connections/routes.ts';
import { makeDescriptionRoutes } from './description/routes.ts';
import { makeExportRoute } from './exports/exports.ts';
import { makeFactorEvents } from './factors/events.ts';
import { makeMfaRoutes } from './factors/mfa-routes.ts';
import { makeRequireSecondFactor } from './factors/mfa-token.ts';
import { makeProve } from './factors/proof.ts';
import { makeSendFactorCode } from './factors/send-code.ts';
import type { Front } from './fronts.ts';
import { makeFastPath } from './grants/fast-path.ts';
import { loadGrantPlugins, registerGrants } from './grants/index.ts';
import { makeStartPage } from './http/start-page.ts';
import { type Imports, openImports } from './imports/imports.ts';
import { type Infrastructure, openInfrastructure } from './infrastructure.ts';
import { makeCommonContextMaker } from './interaction/common-context.ts';
import { makeContinueRoutes } from './interaction/continue.ts';
import { makeInteractionRoutes } from './interaction/routes.ts';
import { guardUserCodes } from './interaction/user-codes.ts';
import { keepKeysCurrent } from './keys/keep-current.ts';
import { makeMac } from './keys/mac.ts';
import { makePublishedAlgs } from './keys/published.ts';
import { loadSigningKeys } from './keys/signing-keys.ts';
import { throttleClientAuthentication } from './library/client-authentication.ts';
import { discoverLanguages } from './library/discovered-languages.ts';
import { publishUsedKeys } from './library/published-keys.ts';
import { acceptDpopNonces } from './library/seam.ts';
import { shareRefreshSuccessors } from './library/tokens/refresh.ts';
import { detectReplays } from './library/tokens/replay-detection.ts';
import { endWithSources } from './library/tokens/sources.ts';
import { findStructuredTokens, makeVerifier } from './library/tokens/structured.ts';
import { makeV2LogoutRoutes } from './logout/v2-logout.ts';
import { makeNotifyOfChange } from './mail/change-notice.ts';
import { makeLetters } from './mail/letters.ts';
import { makeManagement } from './management/management.ts';
import { makePreviewRoute } from './management/previews.ts';
import { observeProvider, type TokensIssued } from './observe.ts';
import { openAnnouncements } from './organizations/announce.ts';
import { makeSendInvitation } from './organizations/invitation-mail.ts';
import { type Outlets, openOutlets } from './outlets.ts';
import { makeOpenAccount } from './passwordless/account.ts';
import { makeLinks } from './passwordless/link.ts';
import { makeSendMessage } from './passwordless/message.ts';
import { makePasswordlessRoutes } from './passwordless/routes.ts';
import { makeSendCode } from './passwordless/send-code.ts';
import { makeChallengeRoutes } from './protection/challenge-routes.ts';
import { makeProtection } from './protection/protection.ts';
import { makeProvider } from './provider.ts';
import { makeProviderPages } from './provider-pages.ts';
import { startPurge } from './purge.ts';
import { makeReport } from './report.ts';
import { managementApi } from './resources/management-api.ts';
import { mfaAudiences } from './resources/mfa-api.ts';
import { checkGrantTypes } from './seed.ts';
import { accountPages } from './self-service/client.ts';
import { makeAccountRoutes } from './self-service/routes.ts';
import { makeStores, type Stores } from './stores.ts';
import { makeLinking } from './upstream/link.ts';
import { federateLogouts, makeFederatedLogout } from './upstream/logout.ts';
import { makeUpstreamRoutes } from './upstream/routes.ts';
import { makeUpstream } from './upstream/upstream.ts';

/** Where it listens, `ISSUER` first. */
export type Gate = { listening: { issuer: string; port: number }[]; opsPort: number };

export async function startGate(start: Start<Env>): Promise<Gate> {
  const last = start.stack.use(new AsyncDisposableStack()); // closed after everything else
  const infrastructure = await openInfrastructure(start);
  const outlets = await openOutlets(infrastructure);
  const stores = { ...makeStores(infrastructure), ...openActions({ ...infrastructure, ...outlets }) };
  const imports = infrastructure.stack.use(
    openImports({ ...infrastructure, ...stores, log: logOfModule(infrastructure.log, 'imports') }),
  );
  const listening: Gate['listening'] = [];
  const providers: Provider[] = [];
  // Closed at the same time, so that slow clients hold up the stop only once.
  const servers: Listening[] = [];
  const own: Own = { imports, servers };
  infrastructure.stack.defer(async () => void (await Promise.all(servers.map((one) => one[Symbol.asyncDispose]()))));
  for (const front of infrastructure.fronts) {
    const { provider, port } = await openFront({ ...infrastructure, ...outlets, ...stores, ...own, ...front });
    providers.push(provider);
    listening.push({ issuer: front.issuer, port });
  }
  infrastructure.stack.use(
    keepKeysCurrent({
      ...infrastructure,
      log: logOfModule(infrastructure.log, 'keys'),
      providers,
      rotateAfterDays: infrastructure.env.KEY_ROTATION_DAYS,
    }),
  );
  if (infrastructure.env.ORGANIZATION_ACCOUNTS === 'on')
    infrastructure.stack.use(await openAnnouncements(infrastructure));
  infrastructure.stack.use(
    startPurge(infrastructure.pool, logOfModule(infrastructure.log, 'stores'), infrastructure.registry),
  );
  return { listening, opsPort: await serveOps({ ...infrastructure, ...outlets, stack: last }, start.stopping) };
}

/** Opens one issuer: everything that carries its name (tokens, links, cookies) is made for it; the stores are shared. */
async function openFront(shared: Shared): Promise<{ provider: Provider; port: number }> {
  const parts: Parts = { ...shared, ...makeSteps(shared) };
  const { provider, tokensIssued } = await makeGateProvider(parts);
  const routers = makeRouters(parts, provider);
  return { provider, port: await serve(parts, provider, routers, tokensIssued) };
}

type Own = { imports: Imports; servers: Listening[] };
type Shared = Infrastructure & Outlets & Stores & ReturnType<typeof openActions> & Own & Front;
type Parts = Shared & ReturnType<typeof makeSteps>;

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
  const notifyOfChange = makeNotifyOfChange(sending);
  const report = makeReport({
    ...parts,
    log: logOfModule(parts.log, 'sign-in'),
    loginKey: keyFor('logins in the log'),
  });
  return {
    letters: sending.letters,
    people,
    postLogin: makePostLogin(parts),
    credentialsExchange: makeCredentialsExchange(parts),
    commonContext: makeCommonContextMaker(parts),
    report,
    csrf: makeMac(keysFor('csrf')),
    exportLinks: makeMac(keysFor('exports of users')),
    ...protection,
    authenticate: makeAuthenticate({ accounts, ...protection }),
    checkCode: makeCheckCode({ accounts, connections, codes, ...protection }),
    sendPasswordMail: makeSendPasswordMail(sending),
    verificationMails,
    sendInvitation: makeSendInvitation(sending),
    notifyOfChange,
    sendMessage,
    sendCode: makeSendCode({ codes, sendMessage }),
    prove: makeProve(parts),
    requireSecondFactor: makeRequireSecondFactor({ ...parts, factorEvents }),
    sendFactorCode: makeSendFactorCode(sending),
    factorEvents,
    openAccount: makeOpenAccount(accounts, settings, connections, people),
    signUp: makeSignUp({ accounts, settings, verificationMails, report, people, ...protection }),
    upstream,
    linking: makeLinking({
      ...parts,
      management: managementApi(parts.env.ISSUER).identifier,
      upstream,
      notifyOfChange,
    }),
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
  acceptDpopNonces(provider, keysFor('dpop nonces'));
  shareRefreshSuccessors(provider, keysFor('refresh tokens'));
  findStructuredTokens(provider, parts.issuers, revokedTokens);
  detectReplays(provider, redis, prefix);
  endWithSources(provider, { redis, prefix, revoked: revokedTokens });
  throttleClientAuthentication(provider, parts.clientThrottle);
  const { tokensIssued } = observeProvider(provider, { ...parts, log: logOfModule(parts.log, 'tokens') });
  federateLogouts(provider, parts.federated);
  guardUserCodes(provider, parts.lockout, parts.pageMemory);
  const plugins = await loadGrantPlugins(env.GRANT_PLUGINS, { findAccount: accounts.find, issuer });
  const ofPlugins = plugins.map(({ grantType }) => grantType);
  for (const { file, seed } of parts.seeds) await inSeedFile(file, () => checkGrantTypes(seed, ofPlugins));
  registerGrants({ ...parts, ...accessParts(parts, provider), provider, plugins });
  return { provider, tokensIssued };
}

/** What it takes to check access tokens for the MFA API. */
const accessParts = ({ issuers }: Parts, provider: Provider) => ({
  mfaAudiences: mfaAudiences(issuers),
  verify: makeVerifier(provider, issuers),
});

/** Everything that the library does not answer. */
function makeRouters(parts: Parts, provider: Provider): Router[] {
  const links = makeLinks({ ...parts, provider });
  return [
    makeInteractionRoutes({ ...parts, provider }),
    makeContinueRoutes(parts),
    makeAccountRoutes({
      ...parts,
      provider,
      management: managementApi(parts.env.ISSUER).identifier,
    }),
    makeUpstreamRoutes({ ...parts, provider }),
    makeManagement({ ...parts, provider, log: logOfModule(parts.log, 'management') }),
    makeMfaRoutes({ ...parts, ...accessParts(parts, provider), provider }),
    makePasswordlessRoutes({ ...parts, provider, sendLink: links.sendLink }),
    links.router,
    makeDatabaseConnectionRoutes({ ...parts, provider }),
    makeOpenRegistration({ ...parts, provider }),
    makeChallengeRoutes({ ...parts, provider }),
    makeChangePasswordRoutes({ ...parts, provider }),
    makeVerifyEmailRoutes({ ...parts, provider }),
    makeV2LogoutRoutes({ ...parts, provider }),
    makePreviewRoute(parts.previews),
    makeExportRoute(parts),
    makeDescriptionRoutes(parts),
    makeStartPage({ ...parts, management: managementApi(parts.env.ISSUER).identifier, stores: storesOf(parts) }),
  ];
}

async function serve(parts: Parts, provider: Provider, routers: Router[], tokensIssued: TokensIssued): Promise<number> {
  const { env, log, servers, observe, issuer, strict, certificate } = parts;
  const server = makeServer(makeAnswer({ ...parts, log: logOfModule(log, 'http'), provider, routers }), {
    head: { issuer: new URL(issuer), trustedProxies: env.TRUSTED_PROXIES, log },
    observe,
    limits: { headMs: env.REQUEST_HEAD_TIMEOUT_MS, requestMs: env.REQUEST_TIMEOUT_MS },
    strict,
    certificate,
    fastPath: makeFastPath({ ...parts, provider, tokensIssued }),
  });
  const listening = await listen(server, { host: env.HOST, port: parts.port, closeWithinMs: gateRequestsMs });
  servers.push(listening);
  return listening.port;
}

/** The stores that must respond for the gate to be of use. */
const storesOf = ({
  pool,
  redis,
  prefix,
  changes,
}: Pick<Infrastructure, 'pool' | 'redis' | 'prefix' | 'changes'>): Record<string, ReadyCheck> => ({
  postgresql: () => checkPostgresWrites(pool),
  changes() {
    if (!changes.isConnected()) throw new Error('nothing is heard of changes in PostgreSQL');
  },
  redis: () => checkRedisWrites(redis, prefix),
});

async function serveOps(
  infrastructure: Infrastructure & Pick<Outlets, 'mailbox'>,
  stopping: AbortSignal | undefined,
): Promise<number> {
  const { env, log, stack, registry, mailbox } = infrastructure;
  const ops = stack.use(
    await openOps({
      host: env.HOST,
      port: env.AUTH_OPS_PORT,
      registry,
      log,
      token: env.OPS_TOKEN,
      stores: storesOf(infrastructure),
      stopping,
      more: mailbox?.answer,
    }),
  );
  return ops.port;
}
