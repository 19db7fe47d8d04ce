/**
 * Isolates receivers and accounts from each other. A hook's cap on attempts in flight halves on a timeout and grows with successes; an
 * account may hold a share of the process's window, and while its receivers are slow no more than it leaves free, so that several such
 * accounts never have it all; free places are given out round robin.
 *
 * A job held up by its hook's cap, or by its account's share, waits in memory if the wait will be short; otherwise it is turned away, to be
 * parked, also when the receiver falls silent only while it waits. Lowest-priority jobs (replays) never wait here, and leave half of every
 * cap to others.
 */

/** `isLast`: starts only where nobody else waits and plenty of room is left. */
export type Waiting = { hookId: number; accountId: number; isLast?: boolean };
/** What a receiver's cap learns from an attempt. */
export type Ran = { durationMs: number; timedOut: boolean };

export type ConcurrencyLimiter<T extends Waiting> = {
  /** Starts the item now or soon, or turns it away. */
  add(item: T): void;
  /** Removes and returns all waiting items. */
  drain(): T[];
  waiting(): number;
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>;
};

type Receiver<T> = {
  limit: number;
  inFlight: number;
  /** Smoothed duration of an attempt; 0: none has ended. */
  durationMs: number;
  /** Since when attempts have been in flight without any ending. */
  silentSince: number;
  queue: T[];
  /** When the last job turned away may come back. */
  busyUntil: number;
};

const firstLimit = 32;
const shortWaitMs = 1_000;
/** How often what waits is looked at again. */
const lookEveryMs = 500;
/** Assumed for a receiver that has not answered yet, until it has been silent for longer. */
const unknownDurationMs = 250;
const turnedAwayMinMs = 1_000;
const turnedAwayMaxMs = 60_000;
const receiversMax = 10_000;

/** `start` runs an item (never rejecting); `turnAway` gets one that must wait until about `dueMs`. */
export function makeConcurrencyLimiter<T extends Waiting>(options: {
  concurrency: number;
  start: (item: T) => Promise<Ran | undefined>;
  turnAway: (item: T, dueMs: number) => void;
}): ConcurrencyLimiter<T> {
  const { concurrency } = options;
  const { now } = Date;
  // Half the window, so that one hook or one account never has it all.
  const share = Math.max(1, Math.ceil(concurrency / 2));
  const receiverOf = makeReceivers<T>(Math.min(firstLimit, share));
  const accounts = makeAccounts();
  const queued = new Set<Receiver<T>>();
  const ended: (() => void)[] = [];
  let inFlight = 0;
  let waiting = 0;
  let last = 0;
  let isLookDue = false;
  const lastMax = Math.max(1, Math.floor(concurrency / 8));

  const shareOf = (accountId: number) =>
    accounts.isSlow(accountId, now()) ? Math.min(share, concurrency - inFlight) : share;

  const mayStart = (receiver: Receiver<T>, item: T) =>
    inFlight < concurrency &&
    receiver.inFlight < receiver.limit &&
    accounts.inFlight(item.accountId) < shareOf(item.accountId);

  const mayStartLast = (receiver: Receiver<T>, item: T) =>
    last < lastMax &&
    waiting === 0 &&
    inFlight < Math.max(1, concurrency / 2) &&
    receiver.inFlight < Math.max(1, Math.floor(receiver.limit / 2)) &&
    mayStart(receiver, item);

  const run = async (receiver: Receiver<T>, item: T) => {
    inFlight += 1;
    if (item.isLast) last += 1;
    if (receiver.inFlight === 0) receiver.silentSince = now();
    receiver.inFlight += 1;
    accounts.started(item.accountId, now());
    const ran = await options.start(item);
    inFlight -= 1;
    if (item.isLast) last -= 1;
    receiver.inFlight -= 1;
    receiver.silentSince = now();
    accounts.ended(item.accountId, ran, now());
    if (ran) learn(receiver, ran, share);
    if (ran?.timedOut) trim(receiver);
    startNext();
    if (inFlight === 0) for (const resolve of ended.splice(0)) resolve();
  };
  /** Starts one item per receiver in turn, beginning with the receiver that has waited longest. */
  const startNext = () => {
    for (const receiver of queued) {
      if (inFlight >= concurrency) return;
      const item = receiver.queue[0]!;
      if (!mayStart(receiver, item)) continue;
      receiver.queue.shift();
      countWaiting(item, -1);
      queued.delete(receiver);
      if (receiver.queue.length > 0) queued.add(receiver);
      void run(receiver, item);
    }
  };
  const turnAway = (receiver: Receiver<T>, item: T) => options.turnAway(item, nextRoom(receiver, now()));
  const countWaiting = ({ accountId }: T, by: 1 | -1) => {
    waiting += by;
    accounts.waits(accountId, by);
  };
  /** Whether an item would wait too long behind those that wait already. */
  const waitsLong = (receiver: Receiver<T>, { accountId }: T) =>
    expectedWaitMs(receiver, now()) > shortWaitMs ||
    // Many hooks with one slow server, each below its own cap.
    accounts.expectedWaitMs(accountId, shareOf(accountId), now()) > shortWaitMs;
  /** Turns away items that would now wait too long. */
  const trim = (receiver: Receiver<T>) => {
    const excess: T[] = [];
    for (let item = receiver.queue.pop(); item; item = receiver.queue.pop()) {
      countWaiting(item, -1);
      if (waitsLong(receiver, item)) excess.push(item);
      else {
        receiver.queue.push(item);
        countWaiting(item, 1);
        break;
      }
    }
    for (const item of excess.reverse()) turnAway(receiver, item);
    if (receiver.queue.length === 0) queued.delete(receiver);
  };
  /** A receiver that was fast when these came may be silent by now, and nothing of it ends before its time is up. */
  const lookAgain = () => {
    isLookDue = false;
    // Those whose turn is next stay longest.
    for (const receiver of [...queued].reverse()) trim(receiver);
    if (waiting > 0) lookSoon();
  };
  const lookSoon = () => {
    // Answers that came while this process stood still are read first: that silence was ours.
    if (!isLookDue) setTimeout(() => setImmediate(lookAgain), lookEveryMs).unref();
    isLookDue = true;
  };

  return {
    add(item) {
      const receiver = receiverOf(item.hookId);
      if (item.isLast) {
        if (mayStartLast(receiver, item)) return void run(receiver, item);
        return options.turnAway(item, now() + turnedAwayMinMs * (1 + Math.random()));
      }
      if (receiver.queue.length === 0 && mayStart(receiver, item)) return void run(receiver, item);
      // We know nothing about a receiver that has not answered yet: at most a share of the window waits for it.
      if (receiver.durationMs === 0 && receiver.queue.length >= share) return turnAway(receiver, item);
      if (waitsLong(receiver, item)) return turnAway(receiver, item);
      receiver.queue.push(item);
      countWaiting(item, 1);
      queued.add(receiver);
      lookSoon();
    },
    drain() {
      const all = [...queued].flatMap((receiver) => receiver.queue.splice(0));
      for (const item of all) countWaiting(item, -1);
      queued.clear();
      return all;
    },
    waiting: () => waiting,
    async idle() {
      while (inFlight > 0) await new Promise<void>((resolve) => ended.push(resolve));
    },
  };
}

/** Receivers by hook, created on first use; when there are too many, idle ones are forgotten. */
function makeReceivers<T>(limit: number): (hookId: number) => Receiver<T> {
  const receivers = new Map<number, Receiver<T>>();
  return (hookId) => {
    const known = receivers.get(hookId);
    if (known) return known;
    if (receivers.size >= receiversMax)
      for (const [id, old] of receivers) if (old.inFlight === 0 && old.queue.length === 0) receivers.delete(id);
    const receiver = { limit, inFlight: 0, durationMs: 0, silentSince: 0, queue: [], busyUntil: 0 };
    receivers.set(hookId, receiver);
    return receiver;
  };
}

/** What each account has in flight and waiting here, and how fast its attempts end. */
function makeAccounts() {
  type Account = Pace & { waiting: number };
  const accounts = new Map<number, Account>();
  const of = (id: number) => {
    const known = accounts.get(id);
    if (known) return known;
    const account = { inFlight: 0, waiting: 0, durationMs: 0, silentSince: 0 };
    accounts.set(id, account);
    return account;
  };
  return {
    inFlight: (id: number) => accounts.get(id)?.inFlight ?? 0,
    started(id: number, nowMs: number) {
      const account = of(id);
      if (account.inFlight === 0) account.silentSince = nowMs;
      account.inFlight += 1;
    },
    ended(id: number, ran: Ran | undefined, nowMs: number) {
      const account = of(id);
      account.inFlight -= 1;
      account.silentSince = nowMs;
      if (ran) account.durationMs = smoothed(account.durationMs, ran.durationMs);
      if (account.inFlight + account.waiting === 0) accounts.delete(id);
    },
    waits(id: number, by: 1 | -1) {
      of(id).waiting += by;
    },
    /** Also while none of its attempts has ended yet. */
    isSlow(id: number, nowMs: number): boolean {
      const account = accounts.get(id);
      return !account || account.durationMs === 0 || paceMs(account, nowMs) > shortWaitMs;
    },
    /** How long one more would wait for the account's share; 0 while that is not used up. */
    expectedWaitMs(id: number, share: number, nowMs: number): number {
      const account = accounts.get(id);
      if (!account || account.inFlight < share) return 0;
      return ((account.waiting + 1) / Math.max(1, share)) * paceMs(account, nowMs);
    },
  };
}

type Pace = { inFlight: number; durationMs: number; silentSince: number };

/** How long attempts take, or have been silent for. */
const paceMs = ({ durationMs, inFlight, silentSince }: Pace, nowMs: number): number =>
  Math.max(durationMs, inFlight > 0 ? nowMs - silentSince : 0);

/** When the next job turned away will find room: each later than the one before, at the receiver's pace. */
function nextRoom<T>(receiver: Receiver<T>, nowMs: number): number {
  const durationMs = Math.max(receiver.durationMs || unknownDurationMs, paceMs(receiver, nowMs));
  receiver.busyUntil = Math.max(receiver.busyUntil, nowMs + turnedAwayMinMs) + durationMs / receiver.limit;
  if (receiver.busyUntil > nowMs + turnedAwayMaxMs) receiver.busyUntil = nowMs + turnedAwayMinMs; // spread over the minute again
  return receiver.busyUntil;
}

/** How long one more item would wait for the receiver's cap; 0 while that is not used up. */
function expectedWaitMs<T>(receiver: Receiver<T>, nowMs: number): number {
  if (receiver.inFlight < receiver.limit) return 0;
  return ((receiver.queue.length + 1) / receiver.limit) * paceMs(receiver, nowMs);
}

function learn<T>(receiver: Receiver<T>, { durationMs, timedOut }: Ran, most: number): void {
  receiver.durationMs = smoothed(receiver.durationMs, durationMs);
  if (timedOut) receiver.limit = Math.max(1, receiver.limit / 2);
  else receiver.limit = Math.min(most, receiver.limit + 1 / receiver.limit);
}

const smoothed = (beforeMs: number, durationMs: number): number =>
  beforeMs === 0 ? durationMs : beforeMs * 0.8 + durationMs * 0.2;
