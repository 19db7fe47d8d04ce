/**
 * How long a graceful stop may take. A dispatcher finishes its attempts in flight, each of which may take `DELIVERY_TIMEOUT_MS`, a gate its
 * requests and then its mails; a process that waits for another to stop allows more time than that one needs. docker-compose.yml has the
 * same numbers.
 */

/** For a process without a deadline of its own. */
export const stopMs = 20_000;

/** How long a stopping gate gives the requests in progress: a login may have to wait ten seconds for others. */
export const gateRequestsMs = 15_000;

/** And then the messages to people that it has still to send. */
export const gateMessagesMs = 10_000;

/** After this a gate exits at once. Until then it also writes the end of its audit log. */
export const gateStopMs = gateRequestsMs + gateMessagesMs + 5_000;

/** Enough for a whole attempt and for recording it; whatever a dispatcher still has in hand is then left to others. */
export const handsEmptyMs = (deliveryTimeoutMs: number): number => deliveryTimeoutMs + 2_000;

/** After this a dispatcher exits at once. Until then it waits for a slow broker, then closes what it opened. */
export const dispatcherStopMs = (deliveryTimeoutMs: number): number => handsEmptyMs(deliveryTimeoutMs) + 13_000;

/** After this a supervisor kills any of the services. */
export const supervisedStopMs = (deliveryTimeoutMs: number): number =>
  Math.max(stopMs, gateStopMs, dispatcherStopMs(deliveryTimeoutMs)) + 2_000;

/** The default and the maximum of `DELIVERY_TIMEOUT_MS`. */
export const deliveryTimeoutMs = { default: 10_000, max: 600_000 };
