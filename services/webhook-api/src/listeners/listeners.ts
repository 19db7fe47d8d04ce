/**
 * The WebSockets that this process holds open, each for one command-line hook. Their deliveries come from the dispatchers, through RabbitMQ
 * (docs/decisions/0316-listeners-and-streams.md).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { within } from '@gatepost/amqp/publisher';
import type { openResponder, Request } from '@gatepost/amqp/requests';
import { decodeRequest, encodeAnswer, forwardingTypes, listenersExchange } from '@gatepost/contracts/forwarding';
import type { Log } from '@gatepost/runtime/log';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import type { Pool } from '@gatepost/webhook-db/pool';
import { type ServerOptions, WebSocketServer } from 'ws';
import { callerOf, expiresInMs, type Token } from '../access/token.ts';
import { makeCounts } from '../counts.ts';
import { ApiError, notFound, unavailable } from '../http/errors.ts';
import type { Upgrade } from '../http/upgrade.ts';
import { makeBindings } from './bindings.ts';
import { ownProtocol } from './frames.ts';
import { type End, ends, type Listener, makeListener } from './listener.ts';
import { hasRoom } from './room.ts';
import { activateFirst, deleteAbandoned, endSession, openSession, releaseSessions, renewSessions } from './rows.ts';

/** Who wants to listen to which hook. `standing`: checks again later whether it still may. */
export type ListenerRequest = {
  upgrade: Upgrade;
  hookId: number;
  token: Token;
  standing(): Promise<'good' | 'refused' | 'gone'>;
};

export type Listeners = AsyncDisposable & {
  /** Turns the connection into a WebSocket. @throws ApiError 404, 429 or 503; nothing has been written to it then. */
  accept(asked: ListenerRequest): Promise<void>;
};

const answerMaxBytes = 4 * 1024 * 1024;
const beatMs = 1_000;
const lookEveryMs = 10_000;
const renewEveryMs = 5_000;
/** As long as a lease lasts. */
const leaseRounds = 4;
/** Time on stopping for deliveries under way, and for listeners to say goodbye. */
const finishMs = 3_000;
const partMs = 1_000;

const serverOptions: ServerOptions = {
  noServer: true,
  clientTracking: false,
  maxPayload: answerMaxBytes,
  perMessageDeflate: false,
  handleProtocols: (asked) => (asked.has(ownProtocol) ? ownProtocol : false),
};

type Open = ListenerRequest & { session: string; listener: Listener; lookAt: number; expiry: NodeJS.Timeout };

export function openListeners(options: {
  pool: Pool;
  broker: Omit<Parameters<typeof openResponder>[0], 'exchange' | 'onRequest'>;
  /** How long a new listener waits for an answer of the broker. */
  brokerTimeoutMs: number;
  /** WebSockets per caller, and in all, in this process. */
  perCaller: number;
  most: number;
  registry: Registry;
  log: Log;
}): Listeners {
  const { pool, log, brokerTimeoutMs } = options;
  const server = new WebSocketServer(serverOptions);
  const open = new Map<number, Open>();
  const callers = makeCounts();
  const leaving = new Set<Listener>();
  let connecting = 0;
  let isClosing = false;
  countOpen(open, options.registry);

  const onRequest = (request: Request) => {
    const hookId = Number(request.routingKey);
    const held = open.get(hookId);
    if (request.type === forwardingTypes.takenOver) {
      if (!held || held.session === request.body.toString()) return;
      bindings.takenFrom(hookId, held.session);
      return held.listener.end(ends.takenOver);
    }
    // The other process answers.
    if (!held && bindings.isTakenAway(hookId)) return;
    const { body } = request;
    const all = sum(open.values(), ({ listener }) => listener.bytes());
    if (!hasRoom(body.length, { own: held?.listener.bytes() ?? 0, all }))
      return request.answer(encodeAnswer({ kind: 'busy' }));
    const answering = held?.listener.deliver(decodeRequest(body)) ?? Promise.resolve(gone);
    void answering.then((answer) => request.answer(encodeAnswer(answer)));
  };
  const bindings = makeBindings({
    ...options.broker,
    exchange: listenersExchange,
    answerTimeoutMs: brokerTimeoutMs,
    onRequest,
  });
  const onEnd = ({ hookId, session, token, listener, expiry }: Open, end: End) => {
    clearTimeout(expiry);
    if (open.get(hookId)?.session === session) open.delete(hookId);
    leaving.add(listener);
    callers.add(callerOf(token), -1);
    log.info({ 'hook.id': hookId, 'client.id': token.clientId, code: end.code }, 'a listener left');
    if (isClosing) return; // all at once
    const closed = { hookIds: [hookId], sessions: [session] };
    const ended = Promise.all([
      bindings.release(hookId, session),
      end.keepsHook ? releaseSessions(pool, closed) : endSession(pool, hookId, session),
    ]);
    ended.catch((error) => log.warn({ 'hook.id': hookId, error }, 'a listener that left will be cleaned up later'));
  };
  /** @returns false if the library has refused the handshake itself. */
  const begin = (asked: ListenerRequest, session: string): boolean => {
    let hasBegun = false;
    server.handleUpgrade(asked.upgrade.request, asked.upgrade.socket, asked.upgrade.head, (socket) => {
      asked.upgrade.socket.setKeepAlive(true, lookEveryMs);
      const listener = makeListener(socket, { onEnd: (end) => onEnd(held, end) });
      socket.once('close', () => leaving.delete(listener));
      const expiry = setTimeout(() => listener.end(ends.expired), expiresInMs(asked.token)).unref();
      const held: Open = { ...asked, session, listener, expiry, lookAt: performance.now() + lookEveryMs };
      const before = open.get(asked.hookId);
      open.set(asked.hookId, held);
      before?.listener.end(ends.takenOver);
      log.info({ 'hook.id': asked.hookId, 'client.id': asked.token.clientId }, 'a listener connected');
      hasBegun = true;
    });
    return hasBegun;
  };

  const checks = startChecks(open, pool, log);

  return {
    async accept(asked) {
      const { hookId, upgrade } = asked;
      const caller = callerOf(asked.token);
      if (isClosing || open.size + connecting >= options.most) throw unavailable();
      if (callers.of(caller) >= options.perCaller) throw tooMany(options.perCaller);
      callers.add(caller, 1);
      connecting += 1;
      const session = randomUUID();
      const giveUp = () => {
        callers.add(caller, -1);
        bindings.release(hookId, session).catch(() => {}); // without a connection nothing is bound
      };
      try {
        const to = await within(brokerTimeoutMs, bindings.connected());
        if (!to.isConnected()) throw unavailable();
        if (!(await openSession(pool, hookId, session))) throw notFound();
        await bindings.take(to, hookId, session);
        await activateFirst(pool, hookId);
        if (isClosing || !upgrade.take()) throw unavailable();
      } catch (error) {
        giveUp();
        throw error;
      } finally {
        connecting -= 1;
      }
      if (!begin(asked, session)) giveUp();
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      checks[Symbol.dispose]();
      const to = await soon(bindings.opened());
      const all = [...open.values()];
      await soon(Promise.all(all.map(({ hookId }) => to?.unbind(String(hookId)))));
      await untilSo(finishMs, () => all.every(({ listener }) => listener.underWay() === 0));
      for (const { listener } of all) listener.end(ends.restarts);
      if (all.length > 0) await releaseSessions(pool, sessionsOf(all)).catch(() => {}); // they expire by themselves
      await untilSo(partMs, () => leaving.size === 0);
      for (const listener of leaving) listener.cut();
      await to?.[Symbol.asyncDispose]();
    },
  };
}

function countOpen(open: ReadonlyMap<number, Open>, registry: Registry): void {
  new Gauge({
    name: 'webhook_api_listeners',
    help: 'WebSockets of listeners that are open in this process',
    registers: [registry],
    collect() {
      this.set(open.size);
    },
  });
}

/** Looks after open listeners, and reports in PostgreSQL that they are there. */
function startChecks(open: ReadonlyMap<number, Open>, pool: Pool, log: Log): Disposable {
  const look = async (held: Open) => {
    held.listener.look();
    const standing = await held.standing();
    if (standing !== 'good') held.listener.end(ends[standing]);
  };
  const beat = setInterval(() => {
    const nowMs = performance.now();
    for (const held of open.values()) {
      if (held.lookAt > nowMs) continue;
      held.lookAt = nowMs + lookEveryMs;
      look(held).catch((error) => log.warn({ 'hook.id': held.hookId, error }, 'could not check a listener'));
    }
  }, beatMs).unref();
  let answeredTimes = 0;
  const renew = async () => {
    try {
      // Without listeners, too: only an answer shows that PostgreSQL is there.
      await renewSessions(pool, sessionsOf(open.values()));
      answeredTimes += 1;
      // While PostgreSQL was away nobody could renew: by now everybody else has had the time to.
      if (answeredTimes > leaseRounds) await deleteAbandoned(pool);
    } catch (error) {
      answeredTimes = 0;
      if (open.size > 0) log.warn({ error }, 'could not renew the sessions of listeners');
    }
  };
  const renewing = setInterval(renew, renewEveryMs).unref();
  return {
    [Symbol.dispose]() {
      clearInterval(beat);
      clearInterval(renewing);
    },
  };
}

const gone = { kind: 'error', code: 'ENOLISTENER', message: 'no listener', hadResponse: false } as const;

const tooMany = (most: number) =>
  new ApiError(429, `You have ${most} listeners already. Please close one before you open another.`);

function sessionsOf(some: Iterable<Open>): { hookIds: number[]; sessions: string[] } {
  const all = [...some];
  return { hookIds: all.map(({ hookId }) => hookId), sessions: all.map(({ session }) => session) };
}

function sum<T>(items: Iterable<T>, of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}

/** Waits until `isSo`, with a time limit. */
async function untilSo(ms: number, isSo: () => boolean): Promise<void> {
  const untilMs = performance.now() + ms;
  while (!isSo() && performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** The broker may not answer, and a stop must not wait for it. */
const soon = <T>(answer: Promise<T>): Promise<T | undefined> =>
  Promise.race([answer, wait(finishMs, undefined, { ref: false })]);
