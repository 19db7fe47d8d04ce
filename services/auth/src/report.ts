/**
 * Reports the gate’s work at the point where it ends: one log line, Prometheus counters, the audit log, and (with EVENTS_ACCOUNT) an event
 * for RabbitMQ.
 */
import { createHmac } from 'node:crypto';
import type { Log } from '@gatepost/runtime/log';
import type { LastLogins } from './accounts/last-login.ts';
import type { Subject } from './accounts/subject.ts';
import type { Audit } from './audit.ts';
import type { Counters } from './counters.ts';
import type { EventSink } from './event-sink.ts';
import type { AccountModel } from './generated/models.ts';
import type { Interaction } from './interaction/interaction.ts';
import type { LogType } from './log-types.ts';
import type { UpstreamFailure } from './upstream/failure.ts';

export type Report = {
  loggedIn(account: Pick<AccountModel, 'userId'>, clientId: string, ip: string, amr: string[]): void;
  /** The same for a login by a token request, which is in the audit log under its grant type (observe.ts). */
  loggedInByGrant: Report['loggedIn'];
  loginFailed(
    where: Pick<Interaction, 'address'> & { client: { clientId: string } },
    reason:
      | 'wrong_password'
      | 'password_leaked'
      | 'wrong_code'
      | 'code_expired'
      | 'too_many_attempts'
      | 'too_many_from_address',
    subject: Subject,
  ): void;
  /** A sign-in at another provider failed. */
  upstreamFailed(
    where: Pick<Interaction, 'address'> & { client: { clientId: string } },
    what: { connection: string; strategy: string; failure: UpstreamFailure },
  ): void;
  /** A client stated a person’s network address, which was ignored. */
  claimedAddressIgnored(clientId: string, reason: 'not_trusted' | 'no_address'): void;
  signedUp(account: AccountModel, clientId: string, ip: string): void;
  /** Somebody has that address or username already. */
  signUpRefused(clientId: string, ip: string): void;
  consentGranted(userId: string, clientId: string, ip: string, scopes: string[]): void;
  loggedOut(userId: string, clientId: string | undefined, ip: string): void;
  passwordChanged(userId: string, ip: string): void;
  emailVerified(account: AccountModel, ip: string): void;
  /** @param by the person, if they did it themselves; an administrator's request is already in the log */
  userDeleted(userId: string, by?: { clientId: string; ip: string }): void;
  tokenRevoked(clientId: string, userId: string | undefined, ip: string): void;
  clientCreated(clientId: string): void;
  clientUpdated(clientId: string): void;
};

type ReportParts = {
  audit: Audit;
  sink: EventSink;
  log: Log;
  lastLogins: LastLogins;
  counters: Pick<Counters, 'logins'>;
  /** The key of the hash that replaces an unknown login. */
  loginKey: Buffer;
};

export function makeReport(parts: ReportParts): Report {
  return { ...reportLogins(parts), ...reportChanges(parts) };
}

function reportLogins(parts: ReportParts) {
  const { audit, sink, log } = parts;
  // What was typed may be a password in the wrong field. The hash shows which ones are equal, but reveals nothing without the key.
  const hashOf = (typed: string) => createHmac('sha256', parts.loginKey).update(typed).digest('base64url');
  const loggedInByGrant: Report['loggedInByGrant'] = ({ userId }, clientId, ip, amr) => {
    sink.publish('user_logged_in', { user_id: userId, client_id: clientId, amr });
    parts.counters.logins.inc({ result: 'success' });
    log.info({ 'client.id': clientId, amr }, 'somebody logged in');
    parts.lastLogins.note(userId, ip);
  };
  return {
    loggedIn(account, clientId, ip, amr) {
      audit.add({ type: 's', clientId, userId: account.userId, ip, details: { amr } });
      loggedInByGrant(account, clientId, ip, amr);
    },
    loggedInByGrant,
    loginFailed({ client, address }, reason, { userId, typed }) {
      const login_hash = userId === undefined ? hashOf(typed) : undefined;
      const whom = login_hash ? { login_hash } : { 'user.id': userId };
      audit.add({
        type: failedType(reason, userId !== undefined),
        clientId: client.clientId,
        userId,
        ip: address,
        details: { reason, ...(login_hash && { login_hash }) },
      });
      sink.publish('login_failed', { client_id: client.clientId, reason });
      parts.counters.logins.inc({ result: reason });
      log.info({ 'client.id': client.clientId, reason, ...whom }, 'a login failed');
    },
    upstreamFailed({ client: { clientId }, address: ip }, { connection, strategy, failure }) {
      const { reason, code, message, advice, detail } = failure;
      const details = {
        connection,
        strategy,
        error: code,
        reason,
        description: message,
        advice,
        ...(detail && { detail }),
      };
      audit.add({ type: 'f', clientId, ip, details });
      sink.publish('login_failed', { client_id: clientId, reason: `upstream_${reason}` });
      parts.counters.logins.inc({ result: `upstream_${reason}` });
      log.info({ 'client.id': clientId, connection, reason, detail }, 'a sign-in at another provider failed');
    },
    claimedAddressIgnored(clientId, reason) {
      log.info({ 'client.id': clientId, reason }, 'auth0-forwarded-for was ignored');
    },
  } satisfies Partial<Report>;
}

/** Changes of accounts, and of clients' access. */
function reportChanges({ audit, sink, log }: ReportParts) {
  return {
    signedUp(account, clientId, ip) {
      audit.add({ type: 'ss', clientId, userId: account.userId, ip });
      sink.publish('user_signed_up', { user_id: account.userId, client_id: clientId, connection: account.connection });
      log.info({ 'client.id': clientId }, 'somebody signed up');
    },
    signUpRefused(clientId, ip) {
      audit.add({ type: 'fs', clientId, ip, details: { reason: 'user_exists' } });
      log.info({ 'client.id': clientId, reason: 'user_exists' }, 'a sign-up was refused');
    },
    consentGranted(userId, clientId, ip, scopes) {
      audit.add({ type: 'consent_granted', clientId, userId, ip, details: { scopes } });
      sink.publish('consent_granted', { user_id: userId, client_id: clientId, scopes });
    },
    loggedOut(userId, clientId, ip) {
      audit.add({ type: 'slo', clientId, userId, ip });
    },
    passwordChanged(userId, ip) {
      audit.add({ type: 'scp', userId, ip });
      log.info('a password was changed');
    },
    emailVerified({ userId }, ip) {
      audit.add({ type: 'sv', userId, ip });
      log.info('an address was confirmed');
    },
    userDeleted(userId, by) {
      if (by) audit.add({ type: 'sdu', userId, ...by });
      sink.publish('user_deleted', { user_id: userId });
      log.info('an account was deleted');
    },
    tokenRevoked(clientId, userId, ip) {
      audit.add({ type: 'srrt', clientId, userId, ip });
      sink.publish('token_revoked', { client_id: clientId, user_id: userId ?? null });
    },
    clientCreated(clientId) {
      sink.publish('client_created', { client_id: clientId });
    },
    clientUpdated(clientId) {
      sink.publish('client_updated', { client_id: clientId });
    },
  } satisfies Partial<Report>;
}

/** Auth0's log types of failed logins. */
function failedType(reason: Parameters<Report['loginFailed']>[1], isKnown: boolean): LogType {
  switch (reason) {
    case 'too_many_attempts':
      return 'limit_wc';
    case 'too_many_from_address':
      return 'limit_mu';
    case 'password_leaked':
      return 'pwd_leak';
    case 'wrong_password':
      return isKnown ? 'fp' : 'fu';
    case 'wrong_code':
    case 'code_expired':
      return 'f';
  }
}
