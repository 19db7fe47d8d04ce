/**
 * How long a polite stop may take. A dispatcher finishes the attempts that it has in flight, each of which may take
 * `DELIVERY_TIMEOUT_MS`; whoever waits for another to stop waits longer than that one does. docker-compose.yml says the same.
 */

/** Of a process that has nothing of its own to say. */
export const stopMs = 20_000;

/** What a dispatcher has in hand after this is left to others: an attempt in full, and a moment to record it. */
export const handsEmptyMs = (deliveryTimeoutMs: number): number => deliveryTimeoutMs + 2_000;

/** A dispatcher ends at once after this. Before its hands are empty it waits for a broker that is slow, and after that it closes things. */
export const dispatcherStopMs = (deliveryTimeoutMs: number): number => handsEmptyMs(deliveryTimeoutMs) + 13_000;

/** A supervisor kills after this; it may not know whom it supervises. */
export const supervisedStopMs = (deliveryTimeoutMs: number): number =>
  Math.max(stopMs, dispatcherStopMs(deliveryTimeoutMs)) + 2_000;

/** `DELIVERY_TIMEOUT_MS`, and the most that it takes. */
export const deliveryTimeoutMs = { default: 10_000, max: 600_000 };
