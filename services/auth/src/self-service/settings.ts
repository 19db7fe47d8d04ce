/** What the tenant lets people do by themselves (`account_self_service` of `tenants/settings`). */
import type { SettingsModel } from '../generated/models.ts';

export type SelfService = {
  /** Whether there is `/account`. */
  enabled: boolean;
  /** Whether people may delete their accounts there. */
  delete: boolean;
};

const standard: SelfService = { enabled: true, delete: true };

export function selfServiceOf({ accountSelfService }: Pick<SettingsModel, 'accountSelfService'>): SelfService {
  return { ...standard, ...(accountSelfService as Partial<SelfService>) };
}

export const isSelfService = (settings: SettingsModel): boolean => selfServiceOf(settings).enabled;
