/** When the steps of a request happen, and the timings that the log shows of it. */
import type { ClientRequest } from 'node:http';
import type { DeliveryTimings } from '@gatepost/contracts/delivery';

/** As `performance.now()` counts. Steps that a reused connection skipped stay undefined. */
export type Clock = {
  socket?: number;
  resolved?: number;
  connected?: number;
  secured?: number;
  written?: number;
  responded?: number;
};

/** Notes the steps of a request; those of opening a tunnel are noted by its agent, which hands over a connected socket. */
export function watch(sent: ClientRequest, clock: Clock): void {
  // Not `once`, which makes two more objects for each: they happen once.
  sent.on('socket', (socket) => {
    if (!socket.connecting) return;
    clock.socket = performance.now();
    socket.once('lookup', () => {
      clock.resolved = performance.now();
    });
    socket.once('connect', () => {
      clock.connected = performance.now();
    });
    socket.once('secureConnect', () => {
      clock.secured = performance.now();
    });
  });
  sent.on('finish', () => {
    clock.written = performance.now();
  });
  sent.prependListener('response', () => {
    clock.responded = performance.now();
  });
}

export function timingsOf(clock: Clock, total: number): DeliveryTimings {
  const { socket, connected, secured, written, responded } = clock;
  const resolved = clock.resolved ?? (connected === undefined ? undefined : socket); // an address needs no lookup
  return {
    dns: between(socket, resolved),
    connect: between(resolved, connected),
    tls: between(connected, secured),
    first_byte: between(written, responded),
    total,
  };
}

function between(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : Math.max(0, Math.round(to - from));
}
