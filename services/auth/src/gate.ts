/** The parts list of the gate: everything that is opened, in order, each closed again by the stack. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { refuseDemo } from '@gatepost/contracts/demo-secrets';
import { makeGuard } from '@gatepost/runtime/address';
import type { Log } from '@gatepost/runtime/log';
import { openMetrics, type Registry } from '@gatepost/runtime/metrics';
import { openOps } from '@gatepost/runtime/ops';
import { checkRedisWrites } from '@gatepost/runtime/redis';
import type { Start } from '@gatepost/runtime/run';
import { makeSeal } from '@gatepost/runtime/seal';
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
import { makePasswordTickets } from './accounts/password-ticket.ts';
import { makeRate } from './accounts/rate.ts';
import { makeSignUp } from './accounts/signup.ts';
import { makeAccountStore } from './accounts/store.ts';
import { makeAdapterFactory } from './adapter/adapter.ts';
import { makeAnswer, makeServer } from './app.ts';
import { openAudit } from './audit.ts';
import { makeConsentStore } from './authorization/consents.ts';
import { makeTicketStore } from './authorization/login-ticket.ts';
import { openBackground } from './background.ts';
import { openChanges } from './changes.ts';
import { makeClientStore } from './clients/store.ts';
import { makeClientThrottle } from './clients/throttle.ts';
import { databaseUrlOf, type Env, outboxFolder } from './config.ts';
import { openDatabase } from './database.ts';
import { makeDatabaseConnectionRoutes } from './database-connections/routes.ts';
import { refuseDemoSecrets } from './demo-secrets.ts';
import { type EventSink, noEvents, openEventSink } from './event-sink.ts';
import { makeEvents, makeRequestObserver, observeProvider } from './events.ts';
import { loadGrantPlugins, registerGrants } from './grants/index.ts';
import { makeMachineLane } from './grants/machine-lane.ts';
import { makeCsrf } from './interaction/csrf.ts';
import { makePlaceMaker } from './interaction/place.ts';
import { makeInteractionRoutes } from './interaction/routes.ts';
import { guardUserCodes } from './interaction/user-codes.ts';
import { deriveKey } from './keys/derived.ts';
import { keepKeysCurrent } from './keys/keep-current.ts';
import { ensureSigningKeys, loadSigningKeys } from './keys/signing-keys.ts';
import { throttleClientAuthentication } from './library/client-authentication.ts';
import { shareSuccessors } from './library/tokens/refresh.ts';
import { endWithSources } from './library/tokens/sources.ts';
import { findStructuredTokens, makeRevokedTokens } from './library/tokens/structured.ts';
import { makeV2LogoutRoutes } from './logout/v2-logout.ts';
import { openPostBox } from './mail/post-box.ts';
import { makeManagement } from './management/management.ts';
import { migrateAuth } from './migrations.ts';
import { makeOpenAccount } from './passwordless/account.ts';
import { makeLinks } from './passwordless/link.ts';
import { makeSendMessage } from './passwordless/message.ts';
import { makePasswordlessRoutes } from './passwordless/routes.ts';
import { makeSendCode } from './passwordless/send-code.ts';
import { makeProvider } from './provider.ts';
import { makeProviderPages } from './provider-pages.ts';
import { startPurge } from './purge.ts';
import { openRedis } from './redis.ts';
import { managementApi } from './resources/management-api.ts';
import { makeResourceStore } from './resources/store.ts';
import { applySeed, readSeed } from './seed.ts';
import { makeConnectionStore } from './settings/connections.ts';
import { makeSettingsStore } from './settings/store.ts';
import { makeTemplateStore } from './settings/templates.ts';

/** @throws when EVENTS_ACCOUNT asks for events and there is no AMQP_URL to publish them to. */
async function openSink(env: Env, log: Log, registry: Registry): Promise<EventSink> {
  if (!env.EVENTS_ACCOUNT) return noEvents;
  if (!env.AMQP_URL) throw new Error('EVENTS_ACCOUNT is set, but AMQP_URL is not');
  return openEventSink({ amqpUrl: env.AMQP_URL, issuer: env.ISSUER, account: env.EVENTS_ACCOUNT, log, registry });
}

function postBoxOptions(env: Env) {
  const isFolder = env.MAIL_URL.startsWith('file:');
  return { mailUrl: env.MAIL_URL, from: env.MAIL_FROM, outbox: isFolder ? fileURLToPath(env.MAIL_URL) : outboxFolder };
}

export type Gate = { port: number; opsPort: number };

export async function startGate({ env, log, stack }: Start<Env>): Promise<Gate> {
  const databaseUrl = databaseUrlOf(env);
  const issuer = env.ISSUER;
  const seal = makeSeal(env.SECRETS_KEY);
  const registry = openMetrics();
  // Before anything is opened: a bad seed file should cost nothing.
  const seed = env.SEED_FILE ? await readSeed(env.SEED_FILE) : undefined;
  const isProduction = env.NODE_ENV === 'production';
  if (seed && isProduction) refuseDemo(seed);

  const { applied } = await migrateAuth(databaseUrl);
  if (applied.length > 0) log.info({ applied }, 'migrated');
  const { pool, db } = stack.use(openDatabase(databaseUrl, log));
  const redis = stack.adopt(await openRedis(env.REDIS_URL, log), (opened) => void opened.disconnect());
  const changes = stack.use(await openChanges(databaseUrl));
  await ensureSigningKeys(pool, seal);
  if (seed) await applySeed(db, seed);
  if (isProduction) await refuseDemoSecrets(pool);

  const prefix = `${env.REDIS_KEY_PREFIX}auth:`;
  const audit = stack.use(openAudit(pool, log));
  const lastLogins = stack.use(openLastLogins(pool, log));
  const sink = stack.use(await openSink(env, log, registry));
  const postBox = stack.adopt(openPostBox(postBoxOptions(env)), (opened) => opened.close());

  const clients = makeClientStore(db, changes);
  const resources = makeResourceStore(db, changes, managementApi(issuer));
  const settings = makeSettingsStore(db, changes);
  const connections = makeConnectionStore(db, changes);
  const templates = makeTemplateStore(db, changes);
  const accounts = makeAccountStore(db, pool);
  const consents = makeConsentStore(pool);
  const tickets = makeTicketStore(redis, prefix, accounts);
  const rate = makeRate(redis, prefix);
  const messageLimits = makeMessageLimits(redis, prefix);
  const background = stack.use(openBackground(log));
  const codes = addressCodes(
    makeOneTimeCodes(redis, prefix, deriveKey(env.SECRETS_KEY, 'one-time codes')),
    accounts,
    async (name) => ((await connections.find(name))?.strategy === 'sms' ? 'sms' : 'email'),
  );
  const place = makePlaceMaker({ settings, templates, log });
  const loginKey = deriveKey(env.SECRETS_KEY, 'logins in the log');
  const events = makeEvents({ audit, sink, log, lastLogins, loginKey });
  const provider = makeProvider({
    issuer,
    guard: makeGuard(env.OUTBOUND_ALLOWED_NETWORKS),
    adapter: makeAdapterFactory({ pool, redis, redisPrefix: prefix, clients }),
    signingKeys: await loadSigningKeys(db, seal),
    cookieKey: deriveKey(env.SECRETS_KEY, 'cookies'),
    dpopNonceSecret: deriveKey(env.SECRETS_KEY, 'dpop nonces'),
    accounts,
    consents,
    connections,
    resources,
    settings,
    tickets,
    pages: makeProviderPages(place),
  });
  shareSuccessors(provider, deriveKey(env.SECRETS_KEY, 'refresh tokens'));
  const revokedTokens = makeRevokedTokens(redis, prefix);
  findStructuredTokens(provider, issuer, revokedTokens);
  endWithSources(provider, { redis, prefix, revoked: revokedTokens });
  const clientThrottle = makeClientThrottle(redis, prefix);
  throttleClientAuthentication(provider, clientThrottle);
  const { tokensIssued } = observeProvider(provider, { log, registry, audit, events });

  const lockout = makeLockout(redis, prefix);
  const authenticate = makeAuthenticate(accounts, lockout);
  const checkCode = makeCheckCode({ accounts, connections, codes, lockout });
  guardUserCodes(provider, lockout, place);
  const passwordTickets = makePasswordTickets(redis, prefix, accounts);
  const sendPasswordMail = makeSendPasswordMail({
    issuer,
    accounts,
    tickets: passwordTickets,
    rate,
    limits: messageLimits,
    settings,
    postBox,
    background,
  });
  const sendMessage = makeSendMessage({ accounts, rate, limits: messageLimits, settings, postBox, background });
  const sendCode = makeSendCode({ codes, sendMessage });
  const openAccount = makeOpenAccount(accounts, settings);
  registerGrants({
    provider,
    redis,
    prefix,
    authenticate,
    checkCode,
    openAccount,
    accounts,
    connections,
    resources,
    events,
    plugins: await loadGrantPlugins(env.GRANT_PLUGINS, { findAccount: accounts.find, issuer }),
  });
  const csrf = makeCsrf(deriveKey(env.SECRETS_KEY, 'csrf'));
  const signUp = makeSignUp(accounts, settings);
  const interactions = makeInteractionRoutes({
    provider,
    secure: issuer.startsWith('https:'),
    accounts,
    authenticate,
    checkCode,
    sendCode,
    openAccount,
    signUp,
    sendPasswordMail,
    consents,
    tickets,
    connections,
    resources,
    settings,
    rate,
    csrf,
    place,
    events,
    log,
  });

  const management = makeManagement({
    issuer,
    provider,
    db,
    pool,
    seal,
    changes,
    clients,
    revokedTokens,
    resources,
    settings,
    accounts,
    connections,
    templates,
    events,
    audit,
    log,
  });

  const links = makeLinks({
    issuer,
    accounts,
    provider,
    redis,
    prefix,
    sendMessage,
    openAccount,
    tickets,
    csrf,
    place,
    events,
  });
  const routers = [
    interactions,
    management,
    makePasswordlessRoutes({
      provider,
      connections,
      checkCode,
      sendCode,
      sendLink: links.sendLink,
      openAccount,
      tickets,
      clientThrottle,
      events,
    }),
    links.router,
    makeDatabaseConnectionRoutes({ provider, connections, signUp, sendPasswordMail, rate, events }),
    makeChangePasswordRoutes({
      provider,
      accounts,
      tickets: passwordTickets,
      endAccess: makeEndAccess(pool),
      csrf,
      place,
      events,
    }),
    makeV2LogoutRoutes({ provider, place, events, secure: issuer.startsWith('https:') }),
  ];
  stack.use(keepKeysCurrent({ provider, pool, db, seal, changes, rotateAfterDays: env.KEY_ROTATION_DAYS, log }));
  stack.use(startPurge(pool, log, registry));

  const server = makeServer(makeAnswer({ provider, place, routers, log }), {
    head: { issuer: new URL(issuer), trustedProxies: env.TRUSTED_PROXIES, log },
    observe: makeRequestObserver(log, registry),
    limits: { headMs: env.REQUEST_HEAD_TIMEOUT_MS, requestMs: env.REQUEST_TIMEOUT_MS },
    secure: issuer.startsWith('https:'),
    machineLane: makeMachineLane({ provider, issuer, resources, clientThrottle, tokensIssued }),
  });
  server.listen(env.AUTH_PORT, env.HOST);
  await once(server, 'listening');
  stack.defer(async () => {
    server.closeIdleConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const ops = stack.use(
    await openOps({
      host: env.HOST,
      port: env.AUTH_OPS_PORT,
      registry,
      ready: {
        postgresql: () => pool.query('SELECT 1'),
        redis: () => checkRedisWrites(redis, prefix),
      },
    }),
  );
  return { port: (server.address() as AddressInfo).port, opsPort: ops.port };
}
