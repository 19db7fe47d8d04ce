import type { Delivery } from '../api/types.ts';

type Outcome = Pick<Delivery, 'status_code'> & { status: string | null };

/** As for the dispatcher: redirects are not followed, so they have delivered nothing. */
export const isDelivered = ({ status_code: code }: Pick<Delivery, 'status_code'>): boolean => code >= 200 && code < 300;

/** The receiver's status code if it answered; otherwise the code is GitHub's convention, not the receiver's, and the cause says more. */
export const outcomeOf = ({ status, status_code: code }: Outcome): string =>
  isDelivered({ status_code: code }) || status === null || status === invalid ? String(code) : status;

const invalid = 'Invalid HTTP response';
