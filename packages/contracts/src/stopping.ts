/**
 * How long a polite stop may take. A dispatcher finishes the attempts that it has in flight, each of which may take
 * `DELIVERY_TIMEOUT_MS`; a process that waits for another to stop waits longer than that one takes. docker-compose.yml says the same.
 */

/** For a process without a deadline of its own. */
export const stopMs = 20_000;

/** Long enough for a whole attempt and for recording it; what a dispatcher still has in hand after this is left to others. */
export const handsEmptyMs = (deliveryTimeoutMs: number): number => deliveryTimeoutMs + 2_000;

/** A dispatcher ends at once after this. Until then it waits for a slow broker, then closes what it opened. */
export const dispatcherStopMs = (deliveryTimeoutMs: number): number => handsEmptyMs(deliveryTimeoutMs) + 13_000;

/** A supervisor kills after this, whichever service it supervises. */
export const supervisedStopMs = (deliveryTimeoutMs: number): number =>
  Math.max(stopMs, dispatcherStopMs(deliveryTimeoutMs)) + 2_000;

/** `DELIVERY_TIMEOUT_MS`, and the most that it takes. */
export const deliveryTimeoutMs = { default: 10_000, max: 600_000 };
