/** Errors in GitHub's form (https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api). One handler, `answer-error.ts`, writes them. */

/** One item of a validation error. `value` is the refused value, where showing it helps and it is not secret. */
export type ErrorItem = {
  resource: string;
  code: 'missing' | 'missing_field' | 'invalid' | 'already_exists' | 'unprocessable' | 'custom';
  field?: string;
  message?: string;
  value?: string;
};

/** An error caused by the client or by a store, never by a bug of ours. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly errors: ErrorItem[] | undefined;
  readonly headers: Record<string, string>;
  /** Replaces the URL of the operation’s own documentation. A path is relative to our own base. */
  readonly documentationUrl: string | undefined;

  constructor(
    status: number,
    message: string,
    more: { errors?: ErrorItem[]; headers?: Record<string, string>; documentationUrl?: string; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.status = status;
    this.errors = more.errors;
    this.headers = more.headers ?? {};
    this.documentationUrl = more.documentationUrl;
  }

  body(documentationUrl: string, base: string): Record<string, unknown> {
    return {
      message: this.message,
      ...(this.errors ? { errors: this.errors } : {}),
      documentation_url: this.documentationUrl?.replace(/^\//, `${base}/`) ?? documentationUrl,
      status: String(this.status),
    };
  }
}

export const notFound = () => new ApiError(404, 'Not Found');

/** 422 with one item per problem. */
export const validationFailed = (...errors: ErrorItem[]) => new ApiError(422, 'Validation Failed', { errors });

/** A store or the gate cannot be reached, or is too slow. */
export const unavailable = (cause?: unknown) =>
  new ApiError(503, 'Service Unavailable', { headers: { 'Retry-After': '1' }, cause });
