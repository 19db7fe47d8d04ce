/** The dependencies of the second-factor pages and API. */
import type { TellOfChange } from '../mail/change-notice.ts';
import type { FactorEvents } from './events.ts';
import type { PendingStore } from './pending.ts';
import type { Prove } from './proof.ts';
import type { SendFactorCode } from './send-code.ts';
import type { FactorStore } from './store.ts';

export type FactorParts = {
  factors: FactorStore;
  prove: Prove;
  pending: PendingStore;
  sendFactorCode: SendFactorCode;
  factorEvents: FactorEvents;
  tellOfChange: TellOfChange;
};
