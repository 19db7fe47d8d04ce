/** Audit log entries for second factors, in Auth0’s type codes (https://auth0.com/docs/deploy-monitor/logs/log-event-type-codes). */
import type { Log } from '@gatepost/runtime/log';
import type { Audit } from '../audit.ts';
import type { LogType } from '../log-types.ts';

export type FactorEvent = { userId: string; clientId?: string | undefined; ip: string };

export type FactorEvents = {
  /** Somebody was asked for a second factor. */
  asked(event: FactorEvent): void;
  succeeded(event: FactorEvent, factor: string): void;
  failed(event: FactorEvent, factor: string, reason: 'wrong' | 'used' | 'expired'): void;
  locked(event: FactorEvent, factor: string): void;
  codeSent(event: FactorEvent, channel: 'email' | 'phone'): void;
  enrolled(event: FactorEvent, factor: string): void;
  removed(event: Partial<FactorEvent> & Pick<FactorEvent, 'userId'>, factor: string): void;
};

export function makeFactorEvents({ audit, log }: { audit: Audit; log: Log }): FactorEvents {
  const note = (type: LogType, { userId, clientId, ip }: Partial<FactorEvent>, details: object = {}) =>
    audit.add({ type, userId, clientId, ip, details: { ...details } });
  return {
    asked: (event) => note('mfar', event),
    succeeded(event, factor) {
      note(factor === 'recovery-code' ? 'gd_recovery_succeed' : 'gd_auth_succeed', event, { factor });
      log.info({ 'client.id': event.clientId, factor }, 'a second factor was proven');
    },
    failed(event, factor, reason) {
      const isKey = factor.startsWith('webauthn');
      const type = isKey ? 'gd_webauthn_challenge_failed' : 'gd_auth_failed';
      note(factor === 'recovery-code' ? 'gd_recovery_failed' : type, event, { factor, reason });
      log.info({ 'client.id': event.clientId, 'user.id': event.userId, factor, reason }, 'a second factor was refused');
    },
    locked(event, factor) {
      note(factor === 'recovery-code' ? 'gd_recovery_rate_limit_exceed' : 'gd_otp_rate_limit_exceed', event, {
        factor,
      });
      log.info({ 'client.id': event.clientId, 'user.id': event.userId, factor }, 'too many tries at a second factor');
    },
    codeSent: (event, channel) => note(channel === 'phone' ? 'gd_send_sms' : 'gd_send_email', event),
    enrolled(event, factor) {
      note('gd_enrollment_complete', event, { factor });
      log.info({ 'client.id': event.clientId, factor }, 'a second factor was set up');
    },
    removed: (event, factor) => note('gd_unenroll', event, { factor }),
  };
}
