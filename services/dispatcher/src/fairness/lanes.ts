/**
 * Who may be in flight: isolation of receivers and accounts from each other. A hook has a cap of attempts in flight that halves
 * on a timeout and grows with successes; an account may hold a share of the process's window; what is left goes round robin.
 *
 * A job that its hook's cap holds up waits in memory while the wait will be short, else it is turned away, to be parked.
 */

export type Waiting = { hookId: number; accountId: number };
/** How an attempt went, as far as its lane cares. */
export type Ran = { durationMs: number; timedOut: boolean };

export type Lanes<T extends Waiting> = {
  /** Starts the item now or soon, or turns it away. */
  add(item: T): void;
  /** Takes out all that wait. */
  drain(): T[];
  waiting(): number;
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>;
};

type Lane<T> = {
  limit: number;
  inFlight: number;
  /** Smoothed duration of an attempt; 0: none has ended. */
  durationMs: number;
  /** Since when something is in flight and nothing has ended. */
  silentSince: number;
  queue: T[];
  /** When the last one turned away may come back. */
  busyUntil: number;
};

const firstLimit = 32;
const shortWaitMs = 1_000;
/** Of a receiver that has not answered yet, until it is silent for longer. */
const unknownDurationMs = 250;
const turnedAwayMinMs = 1_000;
const turnedAwayMaxMs = 60_000;
const lanesMax = 10_000;

/** `start` runs an item (never rejecting); `turnAway` gets one that must wait until about `dueMs`. */
export function makeLanes<T extends Waiting>(options: {
  concurrency: number;
  start: (item: T) => Promise<Ran | undefined>;
  turnAway: (item: T, dueMs: number) => void;
  now?: () => number;
}): Lanes<T> {
  const { concurrency } = options;
  const now = options.now ?? Date.now;
  // Half the window, so that one hook or one account never has it all.
  const share = Math.max(1, Math.ceil(concurrency / 2));
  const lanes = new Map<number, Lane<T>>();
  const accounts = new Map<number, number>();
  const queued = new Set<Lane<T>>();
  const ended: (() => void)[] = [];
  let inFlight = 0;
  let waiting = 0;

  const laneOf = (hookId: number): Lane<T> => {
    let lane = lanes.get(hookId);
    if (!lane) {
      if (lanes.size >= lanesMax)
        for (const [id, old] of lanes) if (old.inFlight === 0 && old.queue.length === 0) lanes.delete(id);
      lane = {
        limit: Math.min(firstLimit, share),
        inFlight: 0,
        durationMs: 0,
        silentSince: 0,
        queue: [],
        busyUntil: 0,
      };
      lanes.set(hookId, lane);
    }
    return lane;
  };
  const mayStart = (lane: Lane<T>, item: T) =>
    inFlight < concurrency && lane.inFlight < lane.limit && (accounts.get(item.accountId) ?? 0) < share;

  const run = async (lane: Lane<T>, item: T) => {
    inFlight += 1;
    if (lane.inFlight === 0) lane.silentSince = now();
    lane.inFlight += 1;
    accounts.set(item.accountId, (accounts.get(item.accountId) ?? 0) + 1);
    const ran = await options.start(item);
    inFlight -= 1;
    lane.inFlight -= 1;
    lane.silentSince = now();
    const left = (accounts.get(item.accountId) ?? 1) - 1;
    if (left > 0) accounts.set(item.accountId, left);
    else accounts.delete(item.accountId);
    if (ran) learn(lane, ran, share);
    if (ran?.timedOut) trim(lane);
    startNext();
    if (inFlight === 0) for (const resolve of ended.splice(0)) resolve();
  };
  /** One of each lane in turn, beginning with whoever waited longest for its turn. */
  const startNext = () => {
    for (const lane of queued) {
      if (inFlight >= concurrency) return;
      const item = lane.queue[0]!;
      if (!mayStart(lane, item)) continue;
      lane.queue.shift();
      waiting -= 1;
      queued.delete(lane);
      if (lane.queue.length > 0) queued.add(lane);
      void run(lane, item);
    }
  };
  const turnAway = (lane: Lane<T>, item: T) => {
    const silentMs = lane.inFlight > 0 ? now() - lane.silentSince : 0;
    const durationMs = Math.max(lane.durationMs || unknownDurationMs, silentMs);
    lane.busyUntil = Math.max(lane.busyUntil, now() + turnedAwayMinMs) + durationMs / lane.limit;
    if (lane.busyUntil > now() + turnedAwayMaxMs) lane.busyUntil = now() + turnedAwayMinMs; // spread over the minute again
    options.turnAway(item, lane.busyUntil);
  };
  /** Lets go of what now would wait too long. */
  const trim = (lane: Lane<T>) => {
    let kept = lane.queue.length;
    while (kept > 0 && expectedWaitMs(lane, kept) > shortWaitMs) kept -= 1;
    const excess = lane.queue.splice(kept);
    waiting -= excess.length;
    for (const item of excess) turnAway(lane, item);
    if (lane.queue.length === 0) queued.delete(lane);
  };

  return {
    add(item) {
      const lane = laneOf(item.hookId);
      if (lane.queue.length === 0 && mayStart(lane, item)) return void run(lane, item);
      if (lane.inFlight >= lane.limit && expectedWaitMs(lane) > shortWaitMs) return turnAway(lane, item);
      // Of a receiver that has not answered yet nothing is known: no more of it than a share of what is in hand.
      if (lane.durationMs === 0 && lane.queue.length >= share) return turnAway(lane, item);
      lane.queue.push(item);
      waiting += 1;
      queued.add(lane);
    },
    drain() {
      const all = [...queued].flatMap((lane) => lane.queue.splice(0));
      queued.clear();
      waiting = 0;
      return all;
    },
    waiting: () => waiting,
    async idle() {
      while (inFlight > 0) await new Promise<void>((resolve) => ended.push(resolve));
    },
  };
}

/** How long the one behind `ahead` others would wait. */
function expectedWaitMs<T>(lane: Lane<T>, ahead = lane.queue.length): number {
  return ((ahead + 1) / lane.limit) * lane.durationMs;
}

function learn<T>(lane: Lane<T>, { durationMs, timedOut }: Ran, most: number): void {
  lane.durationMs = lane.durationMs === 0 ? durationMs : lane.durationMs * 0.8 + durationMs * 0.2;
  if (timedOut) lane.limit = Math.max(1, lane.limit / 2);
  else lane.limit = Math.min(most, lane.limit + 1 / lane.limit);
}
