/** What the tenant allows people to do themselves (`account_self_service` of `tenants/settings`). */
import type { SettingsModel } from '../generated/models.ts';

export type SelfService = {
  /** Whether `/account` exists. */
  enabled: boolean;
  /** Whether people may delete their accounts there. */
  delete: boolean;
};

const standard: SelfService = { enabled: true, delete: true };

export function selfServiceOf({ accountSelfService }: Pick<SettingsModel, 'accountSelfService'>): SelfService {
  return { ...standard, ...(accountSelfService as Partial<SelfService>) };
}

export const isSelfService = (settings: SettingsModel): boolean => selfServiceOf(settings).enabled;
