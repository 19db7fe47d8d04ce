/** Errors of the management API, in Auth0's form: `{ statusCode, error, message, errorCode }`. */
import { STATUS_CODES } from 'node:http';
import type { RefusedToken } from '@gatepost/runtime/refused-token';

export class ManagementProblem extends Error {
  override name = 'ManagementProblem';
  readonly statusCode: number;
  readonly errorCode: string | undefined;
  /** Why a token was refused; for the log and a header, beside Auth0's answer. */
  readonly refused: RefusedToken | undefined;

  constructor(
    statusCode: number,
    errorCode: string | undefined,
    message: string,
    options?: ErrorOptions & { refused?: RefusedToken },
  ) {
    super(message, options);
    this.statusCode = statusCode;
    this.errorCode = errorCode;
    this.refused = options?.refused;
  }

  toJSON(): object {
    return {
      statusCode: this.statusCode,
      error: STATUS_CODES[this.statusCode],
      message: this.message,
      ...(this.errorCode !== undefined && { errorCode: this.errorCode }),
    };
  }
}

export const badBody = (message: string) =>
  new ManagementProblem(400, 'invalid_body', `Payload validation error: ${message}`);
export const badQuery = (message: string) =>
  new ManagementProblem(400, 'invalid_query_string', `Query validation error: ${message}`);
/** @param kind as in Auth0's codes: `inexistent_client` */
export const missing = (kind: string, message: string) => new ManagementProblem(404, `inexistent_${kind}`, message);
export const tryAgain = () => new ManagementProblem(503, 'temporarily_unavailable', 'Try again in a moment');
export const conflict = (errorCode: string, message: string) => new ManagementProblem(409, errorCode, message);
export const insufficientScope = (expected: readonly string[]) =>
  new ManagementProblem(403, 'insufficient_scope', `Insufficient scope, expected any of: ${expected.join(', ')}`);
