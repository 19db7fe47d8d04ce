/**
 * One listener's stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). First comes the requested past,
 * in order, while new events are held: a client that was cut off continues after the last event that it got.
 */
import type { Response } from 'express';

/** Why it ended, as given in its last event. */
export type End = 'expired' | 'refused' | 'restarts';

export type Stream = {
  /** Sends deliveries that were just recorded. */
  send(events: Buffer): void;
  /** Begins to write. */
  begin(response: Response, past: AsyncIterable<Buffer>): Promise<void>;
  /** A comment that shows proxies and clients that it is alive; a client that has read nothing since the beat before last is cut off. */
  beat(): void;
  /** Bytes sent but not read. */
  unread(): number;
  end(why: End): void;
  cut(): void;
};

const unreadMaxBytes = 1024 * 1024;
const unreadMaxBeats = 2;
const endWithinMs = 5_000;
/** Clients reconnect after one to four seconds, so that they do not all come at once when a process stops. */
const retryMs = () => 1_000 + Math.floor(Math.random() * 3_000);

/** `onEnd` is called once, when it ends, whoever ends it. */
export function makeStream(onEnd: () => void): Stream {
  let response: Response | undefined;
  let held: Buffer[] | undefined = [];
  let bufferedBytes = 0;
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
  const unread = () => bufferedBytes + (response?.writableLength ?? 0);
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
      bufferedBytes += events.length;
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
      bufferedBytes = 0;
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
      // A client that does not read would not notice the end.
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
