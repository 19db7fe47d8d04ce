/** An event as stated by its producer. */
export type NewEvent = {
  /** Event type, such as `push`: `[a-z0-9_]{1,64}`; also the routing key. */
  type: string;
  /** Where it occurred: `owner/repo`, or `owner` for an organization-level event. */
  subject: string;
  /** Unique per source. Default: a new UUID. Two events of a subject with one id are the same event: for a day, the second is dropped. */
  id?: string;
  /** When it occurred. Default: now. */
  time?: Date | string;
  /** Such as `opened`. Default: the payload's own `action`. */
  action?: string;
  /**
   * The trace that it belongs to, as of https://www.w3.org/TR/trace-context/#traceparent-header: its deliveries belong to it too, if Gatepost's
   * operators trace.
   */
  traceparent?: string;
  /** For `push`, `create` and `delete`: how many tags it carries; above 3 no delivery is triggered. */
  tagspushed?: number;
} & (
  | {
      /** The payload, to be written as JSON. */
      data: object;
      body?: never;
    }
  | {
      /** The payload as it is: a JSON object in UTF-8, at most 25 MB. Receivers get exactly these bytes. */
      body: Uint8Array | string;
      data?: never;
    }
);
