const statuses = {
  bad_method: 405,
  bad_content_type: 415,
  too_large: 413,
  no_signature: 401,
  wrong_signature: 401,
  stale: 401,
  bad_delivery: 400,
  body_was_read: 500,
};
export type RefusedCode = keyof typeof statuses;

/** A request that is not one of your deliveries. `status` is the answer; the message says what to check, and contains no secret. */
export class Refused extends Error {
  override name = 'Refused';
  readonly code: RefusedCode;
  readonly status: number;
  constructor(code: RefusedCode, message: string) {
    super(message);
    this.code = code;
    this.status = statuses[code];
  }
}
