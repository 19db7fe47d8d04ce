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

/** A request that is no delivery of yours. `status` is what to answer; the message says what to look at, and holds no secret. */
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
