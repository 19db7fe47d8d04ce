/** The dependencies of the second-factor pages and API. */
import type { NotifyOfChange } from '../mail/change-notice.ts';
import type { FactorEvents } from './events.ts';
import type { PendingStore } from './pending.ts';
import type { ProveFactor } from './proof.ts';
import type { SendFactorCode } from './send-code.ts';
import type { FactorStore } from './store.ts';

export type FactorParts = {
  factors: FactorStore;
  prove: ProveFactor;
  pending: PendingStore;
  sendFactorCode: SendFactorCode;
  factorEvents: FactorEvents;
  notifyOfChange: NotifyOfChange;
};
