/**
 * What the audit log says of attacks, in Auth0's type codes (https://auth0.com/docs/deploy-monitor/logs/log-event-type-codes), and how
 * administrators hear of them: `admin_notification` is a warning in the service's log, which names nobody.
 */
import type { Log } from '@gatepost/runtime/log';
import type { Rate } from '../accounts/rate.ts';
import type { Audit } from '../audit.ts';

/** Where an attempt comes from: its address, the network of that as limits count it, and the application. */
export type Whence = { ip: string; network: string; clientId?: string | undefined };

export type ProtectionEvents = {
  /** More came from an address than is allowed. A login that is refused for it writes its own entry. */
  throttled(stage: string, whence: Whence, shields: { blocks: boolean; alerts: boolean }): Promise<void>;
  /** Too many wrong passwords, and the shields do not block. */
  notBlocked(whence: Whence, userId: string | undefined): void;
};

/** Of warnings about one network. */
const hourSeconds = 3_600;

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
  };
}
