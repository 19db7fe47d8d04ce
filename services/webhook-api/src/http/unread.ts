/**
 * Answers that their clients have not read yet. What the operating system does not take of them stays in memory, though the requests are over
 * and no longer among those at once (limits.ts).
 */
import type { Response } from 'express';
import { makeCounts } from '../counts.ts';
import { tooManyAtOnce } from './limits.ts';

export type Unread = {
  /** @throws ApiError 429 when so much of the caller's is unread that a large answer of so many bytes would be too much. */
  check(caller: string, bytes: number): void;
  /** Counts a large answer that was just written, until it is read, and cuts off a client that stops reading it. */
  watch(caller: string, response: Response): void;
};

/** The operating system takes smaller ones whole. */
const largeBytes = 64 * 1024;
const megabyte = 1024 * 1024;

export function makeUnread({
  perCallerMaxBytes = 64 * megabyte,
  maxBytes = 128 * megabyte,
  stillMs = 30_000,
} = {}): Unread {
  const callers = makeCounts();
  /** What ends each, earliest first. */
  const held = new Set<() => void>();
  let total = 0;
  return {
    check(caller, bytes) {
      if (bytes > largeBytes && callers.of(caller) + bytes > perCallerMaxBytes) throw tooManyAtOnce();
    },
    watch(caller, response) {
      const bytes = response.writableLength;
      if (bytes <= largeBytes) return;
      const { socket } = response.req;
      const count = (by: 1 | -1) => {
        callers.add(caller, by * bytes);
        total += by * bytes;
      };
      const forget = () => {
        if (held.delete(cut)) count(-1);
        response.off('close', forget);
        socket.off('close', forget);
      };
      const cut = () => {
        forget();
        socket.destroy();
      };
      count(1);
      held.add(cut);
      // An answer that waits behind another on its connection is not told that this has closed.
      response.once('close', forget);
      socket.once('close', forget);
      // Node then destroys the socket, unless the client has read some of it meanwhile.
      response.setTimeout(stillMs);
      for (const cutEarliest of held) {
        if (total <= maxBytes) break;
        cutEarliest();
      }
    },
  };
}
