/**
 * Reports attacks to the audit log, in Auth0's type codes (https://auth0.com/docs/deploy-monitor/logs/log-event-type-codes), and to
 * administrators: `admin_notification` is a warning in the service's log, which names nobody.
 */
import type { Log } from '@gatepost/runtime/log';
import type { Rate } from '../accounts/rate.ts';
import type { Audit } from '../audit.ts';
import type { Frequency } from './settings.ts';

/** Where an attempt comes from: its address, the network that limits count it under, and the application. */
export type AttemptOrigin = { ip: string; network: string; clientId?: string | undefined };

export type ProtectionEvents = {
  /** An address made more attempts than allowed. A login refused for this writes its own entry. */
  throttled(stage: string, origin: AttemptOrigin, shields: { blocks: boolean; alerts: boolean }): Promise<void>;
  /** Too many wrong passwords, and the shields do not block. */
  notBlocked(origin: AttemptOrigin, userId: string | undefined): void;
  /** Somebody was given a challenge. */
  challenged(
    asking: { stage: string; ip: string; clientId: string },
    what: { answer: 'passed' | 'missing' | 'wrong'; isMonitored: boolean },
  ): void;
  /** A breached password, used to sign in or chosen as a new one. A login refused for this writes its own entry. */
  leaked(
    type: 'pwd_leak' | 'signup_pwd_leak' | 'reset_pwd_leak',
    origin: AttemptOrigin,
    what: { userId?: string; blocks: boolean; alerts: Frequency[] | undefined },
  ): Promise<void>;
};

/** The interval between warnings about one network. */
const hourSeconds = 3_600;
const daySeconds = 86_400;
/** Rarest first; the first one configured applies. */
const frequencies: [Frequency, number][] = [
  ['monthly', 30 * daySeconds],
  ['weekly', 7 * daySeconds],
  ['daily', daySeconds],
];

export function makeProtectionEvents({ audit, log, rate }: { audit: Audit; log: Log; rate: Rate }): ProtectionEvents {
  return {
    async throttled(stage, { ip, network, clientId }, { blocks, alerts }) {
      if (stage !== 'pre-login' || !blocks)
        audit.add({ type: 'limit_mu', clientId, ip, details: { stage, blocked: blocks } });
      if (alerts && (await rate.take('alerts', `${stage} ${network}`, 1, hourSeconds)))
        log.warn({ 'client.id': clientId, stage, blocked: blocks }, 'an address made too many attempts');
    },
    notBlocked: ({ ip, clientId }, userId) =>
      audit.add({ type: 'limit_wc', clientId, userId, ip, details: { blocked: false } }),
    challenged({ stage, ip, clientId }, { answer, isMonitored }) {
      audit.add({ type: 'pla', clientId, ip, details: { stage, challenge: answer, monitored: isMonitored } });
      if (answer !== 'passed')
        log.info({ 'client.id': clientId, stage, challenge: answer }, 'a challenge was not solved');
    },
    async leaked(type, { ip, clientId }, { userId, blocks, alerts }) {
      if (type !== 'pwd_leak' || !blocks)
        audit.add({ type, clientId, userId, ip, details: { reason: 'password_leaked', blocked: blocks } });
      if (!alerts) return;
      const seconds = frequencies.find(([name]) => alerts.includes(name) && !alerts.includes('immediately'))?.[1];
      if (seconds === undefined || (await rate.take('alerts', type, 1, seconds)))
        log.warn({ 'client.id': clientId, type, blocked: blocks }, 'a breached password was used');
    },
  };
}
