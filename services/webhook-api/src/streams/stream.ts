/**
 * One listener's stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). First comes what it asked
 * for of the past, in order, and what is sent meanwhile is held: a client that is cut off goes on after the last event that it got.
 */
import type { Response } from 'express';

/** Why it ended, as its last event says. */
export type End = 'expired' | 'refused' | 'restarts';

export type Stream = {
  /** Sends what has just been recorded. */
  send(events: Buffer): void;
  /** Begins to write. */
  begin(response: Response, past: AsyncIterable<Buffer>): Promise<void>;
  /** A comment, by which proxies and clients see that it is alive; who has read nothing since the one before the last is cut off. */
  beat(): void;
  /** What has been sent and not been read. */
  unread(): number;
  end(why: End): void;
  cut(): void;
};

const unreadMaxBytes = 1024 * 1024;
const unreadMaxBeats = 2;
const endWithinMs = 5_000;
/** Clients come back after one to four seconds: not all at once, when a process stops. */
const retryMs = () => 1_000 + Math.floor(Math.random() * 3_000);

/** `onEnd` is called once, when it ends, by whomever. */
export function makeStream(onEnd: () => void): Stream {
  let response: Response | undefined;
  let held: Buffer[] | undefined = [];
  let heldBytes = 0;
  let unreadBeats = 0;
  let isOpen = true;

  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    held = undefined;
    onEnd();
  };
  const cut = () => {
    response?.destroy();
    close();
  };
  const unread = () => heldBytes + (response?.writableLength ?? 0);
  const write = (data: Buffer | string) => {
    if (!isOpen || !response) return;
    response.write(data);
    if (unread() > unreadMaxBytes) cut();
  };
  return {
    unread,
    cut,
    send(events) {
      if (!isOpen) return;
      if (!held) return write(events);
      held.push(events);
      heldBytes += events.length;
      if (unread() > unreadMaxBytes) cut();
    },
    async begin(to, past) {
      response = to;
      if (!isOpen || to.destroyed) return cut();
      to.once('close', close);
      write(`retry: ${retryMs()}\n\n`);
      for await (const events of past) {
        if (!isOpen) return;
        write(events);
        if (isOpen && to.writableNeedDrain) await drained(to);
      }
      const late = held ?? [];
      held = undefined;
      heldBytes = 0;
      for (const events of late) write(events);
    },
    beat() {
      if (!response) return;
      unreadBeats = response.writableLength > 0 ? unreadBeats + 1 : 0;
      if (unreadBeats > unreadMaxBeats) return cut();
      write(':\n\n');
    },
    end(why) {
      if (!isOpen) return;
      // Who does not read does not hear of it.
      if (response) setTimeout(cut, endWithinMs).unref();
      response?.end(`event: end\ndata: ${JSON.stringify({ reason: why })}\n\n`);
      close();
    },
  };
}

async function drained(response: Response): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}
