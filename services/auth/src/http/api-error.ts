/** A refusal of Auth0’s authentication API, under both its own names and OAuth’s, since SDKs read either. */

export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** For the header Retry-After. */
  retryAfterSeconds?: number;
  constructor(status: number, error: string, description: string, more: Record<string, unknown> = {}) {
    super(description);
    this.status = status;
    this.body = { error, error_description: description, ...more };
  }
}
