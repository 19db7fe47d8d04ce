/**
 * One listener's WebSocket: sends deliveries in turn, and receives its answers.
 *
 * GitHub's protocol does not say which delivery an answer belongs to, and the extension sends none when it could not reach its receiver. So one
 * delivery is under way at a time, followed by a ping. The extension reads nothing while it works, so its pong comes after its answer, or
 * shows that there will be none. After a delivery that has timed out, the next goes out only after one of the two. A listener that repeats
 * `Id` (`ownProtocol`) has several under way.
 */
import type { ForwardAnswer, ForwardRequest } from '@gatepost/contracts/forwarding';
import { lineMaxMs } from '@gatepost/contracts/forwarding';
import type { RawData, WebSocket } from 'ws';
import { encodeFrame, ownProtocol, parseAnswer } from './frames.ts';

/** Why it ended, as a WebSocket close code. `keepsHook`: the listener may come back to the same hook. */
export type End = { code: number; reason: string; keepsHook: boolean };

export const ends = {
  left: { code: 1000, reason: '', keepsHook: false },
  restarts: { code: 1012, reason: 'this server stops; connect again', keepsHook: true },
  badMessage: { code: 1007, reason: 'not an answer', keepsHook: false },
  doesNotRead: { code: 1008, reason: 'nothing is read', keepsHook: false },
  expired: { code: 4401, reason: 'the token has expired; connect again with another', keepsHook: true },
  refused: { code: 4403, reason: 'the token may not manage this hook any more', keepsHook: false },
  gone: { code: 4404, reason: 'the hook was deleted', keepsHook: false },
  takenOver: { code: 4409, reason: 'another socket has taken over', keepsHook: true },
} as const satisfies Record<string, End>;

export type Listener = {
  deliver(request: ForwardRequest): Promise<ForwardAnswer>;
  /** Deliveries waiting for an answer. */
  underWay(): number;
  /** Bytes of deliveries that are under way, wait, or have timed out without being read yet. */
  bytes(): number;
  /** Shows that we are there, and ends the socket if it does not read or shows no sign of life. To be called every few seconds. */
  look(): void;
  /** Sends nothing more. */
  end(end: End): void;
  /** Cuts the connection if it still exists. */
  cut(): void;
};

type Item = {
  id: string;
  request: ForwardRequest;
  timer: NodeJS.Timeout;
  settle(answer: ForwardAnswer): void;
};

const concurrentMax = 32;
const queueMaxItems = 256;
const queueMaxBytes = 32 * 1024 * 1024;
/** With this much unread it gets nothing more; that includes deliveries that have timed out. */
const unreadMaxBytes = 64 * 1024 * 1024;
const unreadMaxMs = 30_000;
const silentMaxMs = 60_000;
/** Long enough for inspecting a delivery in a debugger. */
const silentAtWorkMaxMs = 600_000;

/** `onEnd` is called once, when it ends, whoever ends it. */
export function makeListener(socket: WebSocket, options: { onEnd(end: End): void; now?: () => number }): Listener {
  const now = options.now ?? (() => performance.now());
  const isConcurrent = socket.protocol === ownProtocol;
  const queue = makeQueue();
  const signsOfLife = watchSignsOfLife(socket, now);
  const sent = new Map<string, Item>();
  let sentBytes = 0;
  let sequence = 0;
  /** In GitHub's protocol: the timed-out delivery that may still be answered, and the last one known to be read. */
  let owed: string | undefined;
  let passed: string | undefined;
  let isOpen = true;

  const next = () => {
    while (isOpen && owed === undefined && sent.size < (isConcurrent ? concurrentMax : 1)) {
      const item = queue.shift();
      if (!item) return;
      send(item);
    }
  };
  const send = (item: Item) => {
    clearTimeout(item.timer);
    item.timer = setTimeout(() => timeOut(item), item.request.timeoutMs);
    sent.set(item.id, item);
    sentBytes += item.request.body.length;
    const frame = encodeFrame(item.request, isConcurrent ? item.id : undefined);
    signsOfLife.wrote(frame.length);
    socket.send(frame);
    if (!isConcurrent) socket.ping(item.id);
  };
  const settle = (item: Item, answer: ForwardAnswer) => {
    clearTimeout(item.timer);
    if (!sent.delete(item.id)) return;
    sentBytes -= item.request.body.length;
    item.settle(answer);
    next();
  };
  const timeOut = (item: Item) => {
    if (!isConcurrent && passed !== item.id) owed = item.id;
    settle(item, { kind: 'timeout' });
  };
  const turnAway = (item: Item) => {
    if (queue.leave(item)) item.settle({ kind: 'busy' });
  };
  const end = (how: End) => {
    if (!isOpen) return;
    isOpen = false;
    for (const item of [...queue.empty(), ...sent.values()]) {
      clearTimeout(item.timer);
      // An unreadable answer is an answer all the same.
      item.settle(gone(how.code === ends.badMessage.code && !isConcurrent));
    }
    sent.clear();
    sentBytes = 0;
    // The extension reconnects only after a broken connection (webhook/forward.go: `runFwd`).
    if ((how === ends.restarts && !isConcurrent) || socket.bufferedAmount > unreadMaxBytes) socket.terminate();
    else if (how !== ends.left) socket.close(how.code, how.reason);
    options.onEnd(how);
  };
  const onMessage = (data: RawData) => {
    signsOfLife.shown();
    const parsed = parseAnswer(String(data));
    if (!parsed) return end(ends.badMessage);
    if (owed !== undefined) {
      owed = undefined; // this was the late answer
      return next();
    }
    const id = isConcurrent ? parsed.id : sent.keys().next().value;
    const item = id === undefined ? undefined : sent.get(id);
    if (item) settle(item, parsed.answer);
  };
  const onPong = (data: Buffer) => {
    signsOfLife.shown();
    const id = String(data);
    if (id === '') return;
    passed = id;
    if (owed !== id) return;
    owed = undefined;
    next();
  };
  socket.on('message', onMessage);
  socket.on('pong', onPong);
  socket.on('close', () => end(ends.left));
  socket.on('error', (error: Error & { code?: string }) => {
    // 'close' follows. The library itself answers a message that is too large or not UTF-8.
    if (error.code?.startsWith('WS_ERR_')) end(ends.badMessage);
  });

  return {
    underWay: () => sent.size,
    bytes: () => (isOpen ? queue.bytes() + Math.max(sentBytes, socket.bufferedAmount) : 0),
    deliver(request) {
      if (!isOpen) return Promise.resolve(gone(false));
      if (!queue.hasRoom(request.body.length) || socket.bufferedAmount > unreadMaxBytes)
        return Promise.resolve({ kind: 'busy' });
      return new Promise((resolve) => {
        const timer = setTimeout(() => turnAway(item), Math.min(lineMaxMs, request.timeoutMs));
        const item: Item = { id: String(++sequence), request, timer, settle: resolve };
        queue.join(item);
        next();
      });
    },
    look() {
      if (!signsOfLife.areGood(sent.size > 0 || owed !== undefined)) return end(ends.doesNotRead);
      socket.ping('');
    },
    end,
    cut: () => socket.terminate(),
  };
}

/** Deliveries waiting for their turn. */
function makeQueue() {
  const items: Item[] = [];
  let bytes = 0;
  return {
    bytes: () => bytes,
    hasRoom: (length: number) => items.length < queueMaxItems && (bytes === 0 || bytes + length <= queueMaxBytes),
    join(item: Item) {
      items.push(item);
      bytes += item.request.body.length;
    },
    shift() {
      const item = items.shift();
      bytes -= item?.request.body.length ?? 0;
      return item;
    },
    /** False if it is no longer there. */
    leave(item: Item): boolean {
      const at = items.indexOf(item);
      if (at < 0) return false;
      items.splice(at, 1);
      bytes -= item.request.body.length;
      return true;
    },
    empty() {
      bytes = 0;
      return items.splice(0);
    },
  };
}

/** Signs of life: that it reads what it gets, and says something now and then. */
function watchSignsOfLife(socket: WebSocket, now: () => number) {
  let shownAt = now();
  let written = 0;
  /** The bytes that have left us, and when that number last grew. */
  let left = { bytes: 0, atMs: now() };
  return {
    wrote(bytes: number) {
      written += bytes;
    },
    shown() {
      shownAt = now();
    },
    areGood(isAtWork: boolean): boolean {
      const { bufferedAmount } = socket;
      const bytes = written - bufferedAmount;
      if (bufferedAmount === 0 || bytes > left.bytes) left = { bytes, atMs: now() };
      const silentMs = now() - shownAt;
      return now() - left.atMs <= unreadMaxMs && silentMs <= (isAtWork ? silentAtWorkMaxMs : silentMaxMs);
    },
  };
}

const gone = (hadResponse: boolean): ForwardAnswer => ({
  kind: 'error',
  code: 'ECONNRESET',
  message: 'the listener has left',
  hadResponse,
});
