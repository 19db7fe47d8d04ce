/** Why a hook cannot be as a client wants it. */
import { validationFailed } from '../http/errors.ts';

/** 422 for one property. */
export const refuse = (field: string, message: string) =>
  validationFailed({ resource: 'Hook', code: 'custom', field, message });
