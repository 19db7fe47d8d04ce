/**
 * Fair queueing for scarce work. Networks take turns, and within a network the requested accounts do: however many requests one
 * network sends, any other waits for at most one piece of work per network ahead of it.
 *
 * The queue is bounded, per network and in total. When it is full, the network with the most waiting requests loses its newest one.
 * So nobody is refused because of a stranger’s requests while any network has more waiting.
 */

/** Who causes the work: the network of the request, and the account (or typed identifier) that it concerns. */
export type Asker = { network: string; account: string };

/** The queue is full. `excess`: because of what this very network already has waiting. */
export class TooBusy extends Error {
  override name = 'TooBusy';
  readonly excess: boolean;
  constructor(excess: boolean) {
    super(excess ? 'this network waits with too much' : 'too much is waiting');
    this.excess = excess;
  }
}

export type Turns = {
  /** Runs the work in its turn. @throws TooBusy */
  take<T>(asker: Asker, work: () => Promise<T>): Promise<T>;
};

type Waiting = { start(): void; refuse(error: TooBusy): void };
/** Maps keep insertion order: the first entry is next, and moves to the end after its turn. */
type NetworkQueue = { size: number; accounts: Map<string, Waiting[]> };

type Limits = { running: number; perNetwork: number; waiting: number };

export function makeTurns(limits: Limits): Turns {
  const { add, next, makeRoom } = makeQueue(limits);
  let running = 0;

  return {
    async take(asker, work) {
      if (running < limits.running) running += 1;
      else {
        makeRoom(asker);
        await new Promise<void>((start, refuse) => add(asker, { start, refuse }));
      }
      try {
        return await work();
      } finally {
        const waiting = next();
        if (waiting) waiting.start();
        else running -= 1;
      }
    },
  };
}

function makeQueue(limits: Omit<Limits, 'running'>) {
  const lines = new Map<string, NetworkQueue>();
  let size = 0;

  function add({ network, account }: Asker, waiting: Waiting): void {
    const line = lines.get(network) ?? { size: 0, accounts: new Map<string, Waiting[]>() };
    const queue = line.accounts.get(account) ?? [];
    queue.push(waiting);
    line.accounts.set(account, queue);
    line.size += 1;
    lines.set(network, line);
    size += 1;
  }

  /** Picks the next request; its account moves to the end of its network, and its network to the end of all. */
  function next(): Waiting | undefined {
    const [network] = lines.keys();
    if (network === undefined) return undefined;
    const line = lines.get(network)!;
    const [account] = line.accounts.keys();
    const queue = line.accounts.get(account!)!;
    const waiting = queue.shift()!;
    line.accounts.delete(account!);
    if (queue.length > 0) line.accounts.set(account!, queue);
    line.size -= 1;
    size -= 1;
    lines.delete(network);
    if (line.size > 0) lines.set(network, line);
    return waiting;
  }

  /** Removes an account’s newest request; the account keeps its place in the order. */
  function sendAway(line: NetworkQueue, account: string): void {
    const queue = line.accounts.get(account)!;
    const newest = queue.pop()!;
    if (queue.length === 0) line.accounts.delete(account);
    line.size -= 1;
    size -= 1;
    newest.refuse(new TooBusy(true));
  }

  /** Makes room for one more request. @throws TooBusy when the asking network itself has the most waiting */
  function makeRoom({ network, account }: Asker): void {
    const own = lines.get(network);
    const isNetworkFull = (own?.size ?? 0) >= limits.perNetwork;
    if (!isNetworkFull && size < limits.waiting) return;
    const longest = isNetworkFull ? network : longestOf(lines, ({ size: length }) => length);
    if (longest !== network && lines.get(longest)!.size <= (own?.size ?? 0) + 1) throw new TooBusy(false);
    const { accounts } = lines.get(longest)!;
    const busiest = longestOf(accounts, ({ length }) => length);
    if (longest === network && accounts.get(busiest)!.length <= (accounts.get(account)?.length ?? 0) + 1)
      throw new TooBusy(true);
    sendAway(lines.get(longest)!, busiest);
  }

  return { add, next, makeRoom };
}

function longestOf<T>(entries: Map<string, T>, lengthOf: (entry: T) => number): string {
  let [longest, length] = ['', -1];
  for (const [name, entry] of entries) if (lengthOf(entry) > length) [longest, length] = [name, lengthOf(entry)];
  return longest;
}
