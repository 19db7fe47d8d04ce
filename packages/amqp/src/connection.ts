/** One AMQP connection that reconnects: amqplib's recovery, with our topology declared on every new connection. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Binding, Topology } from '@gatepost/contracts/topology';
import { tlsFilesOf } from '@gatepost/runtime/tls-files';
import { type Channel, type ChannelModel, connect, type RecoveringChannelModel } from 'amqplib';
import { brokersOf } from './brokers.ts';
import { leave } from './cut-off.ts';
import { readFrames } from './read-frames.ts';
import { takeUnreadable } from './unreadable.ts';
import { writeTogether } from './write-together.ts';

/** Where connections log; every process has one log (packages/runtime/src/log.ts). */
export type ConnectionLog = Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>;

export type ConnectionOptions = {
  /** `amqp://user:password@host:port/vhost`; the nodes of a cluster are separated by commas. */
  url: string;
  /** Shown in RabbitMQ's list of connections. */
  name: string;
  log: ConnectionLog;
  /** Counts lost connections (`reconnectCounter`). */
  reconnects?: { inc(): void };
  topology: Topology;
  /** How many times the first connection is tried before `open` rejects; later reconnects never give up. Default 5. */
  initialRetries?: number;
  /** How long these tries may take together. Default: as long as they take, a minute at a broker that accepts connections and says nothing. */
  initialTimeoutMs?: number;
  /** Default true. False: `open` resolves at once and connects in the background, however long the broker is away. */
  waitForConnect?: boolean;
};

export type Connection = { isConnected(): boolean; close(): Promise<void> };

const closeTimeoutMs = 2_000;

/**
 * Connects, declares the topology and calls `setup` on every new connection before anyone uses it. Waits between tries grow from 0.1 s to at
 * most 5 s, with jitter. Rejects when the first connection cannot be made, unless it is not waited for.
 */
export async function openConnection(
  options: ConnectionOptions,
  setup: (model: ChannelModel) => Promise<void>,
): Promise<Connection> {
  const { log, waitForConnect = true, initialTimeoutMs } = options;
  let connected = false;
  let latest: ChannelModel | undefined;
  const recovering = await connect(brokersOf(options.url), {
    ...tlsFilesOf(options.url),
    clientProperties: { connection_name: options.name },
    timeout: 10_000,
    noDelay: true,
    recovery: {
      initialDelay: 100,
      maxDelay: 5_000,
      factor: 2,
      jitter: 0.3,
      initialMaxRetries: waitForConnect ? (options.initialRetries ?? 5) : Number.POSITIVE_INFINITY,
      waitForConnect: false,
      async setup(model: ChannelModel) {
        latest = model;
        // Until the setup is complete, amqplib does not listen for the connection’s 'error' event, so a connection that breaks meanwhile would
        // end the process.
        model.on('error', () => {});
        takeUnreadable(model, log);
        readFrames(model);
        writeTogether(model);

        // Not every call on a breaking connection rejects: a call queued at that moment, or made just after, never settles.
        const broken = new Promise<never>((_, reject) => {
          model.once('close', (error?: Error) =>
            reject(error ?? new Error('the connection closed while it was set up')),
          );
        });
        broken.catch(() => {}); // after the setup nobody waits for it
        try {
          await Promise.race([declare(model, options).then(() => setup(model)), broken]);
        } catch (error) {
          // amqplib closes the connection and waits for an answer, forever if the broker dies at that moment. It does not wait for a connection
          // that is already closing.
          await Promise.race([model.close().catch(() => {}), wait(closeTimeoutMs, undefined, { ref: false })]);
          throw error;
        }
      },
    },
  });
  recovering.on('connect', () => {
    connected = true;
  });
  recovering.on('disconnect', () => {
    connected = false;
  });
  report(recovering, options);
  const first = recovering.waitForConnect();
  if (!waitForConnect)
    first.catch(() => {}); // closed before it ever connected
  else if (initialTimeoutMs === undefined) await first;
  else {
    const late = wait(initialTimeoutMs, 'late', { ref: false });
    if ((await Promise.race([first, late])) === 'late') {
      await giveUp(recovering, () => latest);
      throw new Error(`the broker did not answer within ${initialTimeoutMs} ms`);
    }
  }
  return { isConnected: () => connected, close: () => close(recovering, () => latest) };
}

function report(recovering: RecoveringChannelModel, { name, log, reconnects }: ConnectionOptions): void {
  recovering.on('connect', () => {
    log.info({ 'amqp.connection': name }, 'connected to RabbitMQ');
  });
  recovering.on('disconnect', (error) => {
    reconnects?.inc();
    log.warn({ 'amqp.connection': name, error }, 'lost RabbitMQ, reconnecting');
  });
  recovering.on('connect-failed', (error) =>
    log.warn({ 'amqp.connection': name, error }, 'could not connect to RabbitMQ'),
  );
  recovering.on('blocked', (reason) =>
    log.error({ 'amqp.connection': name, reason }, 'RabbitMQ refuses publishing: it is short of memory or disk'),
  );
  recovering.on('unblocked', () => log.info({ 'amqp.connection': name }, 'RabbitMQ accepts publishing again'));
  // 'disconnect' follows and says the same.
  recovering.on('error', () => {});
}

/** A broker that dies at that moment, or reads nothing, never answers; the open socket would keep the process alive. */
async function close(recovering: RecoveringChannelModel, latest: () => ChannelModel | undefined): Promise<void> {
  const closed = new AbortController();
  const late = wait(closeTimeoutMs, true, { signal: closed.signal }).catch(() => {});
  const isLate = await Promise.race([recovering.close().then(() => false), late]);
  closed.abort();
  const model = latest();
  if (isLate && model) leave(model, 'the broker does not answer the close');
}

/** For a connection that was never made. */
async function giveUp(recovering: RecoveringChannelModel, latest: () => ChannelModel | undefined): Promise<void> {
  await close(recovering, latest);
  const model = latest();
  if (model) leave(model, 'its setup took too long');
}

const notFound = 404;
const preconditionFailed = 406;

/** Queues that exist with other arguments, by URL and name; they are not declared again. */
const kept = new Set<string>();

async function declare(model: ChannelModel, options: ConnectionOptions): Promise<void> {
  const { exchanges, queues, bindings, unbindings = [], bindsOnlyNew = false } = options.topology;
  const binds = !bindsOnlyNew || !(await exists(model, exchanges[0]));
  let channel = await openChannel(model);
  for (const exchange of exchanges) {
    await channel.assertExchange(exchange.name, exchange.type, {
      durable: exchange.durable,
      arguments: exchange.arguments,
    });
  }
  for (const queue of queues) {
    const isOpen = await declareQueue(channel, queue, options);
    if (isOpen) continue;
    // A declaration that RabbitMQ refuses closes the channel.
    channel = await openChannel(model);
    if (!kept.has(keyOf(queue, options))) await declareQueue(channel, queue, options);
  }
  if (binds) for (const binding of bindings) await bind(channel, binding);
  for (const binding of unbindings) await unbind(channel, binding);
  await channel.close();
}

/** Whether the exchange exists. RabbitMQ closes the channel if it does not. */
async function exists(model: ChannelModel, exchange: Topology['exchanges'][number] | undefined): Promise<boolean> {
  if (!exchange) return false;
  const channel = await openChannel(model);
  try {
    await channel.checkExchange(exchange.name);
    await channel.close();
    return true;
  } catch (error) {
    if ((error as { code?: number }).code === notFound) return false;
    throw error;
  }
}

function bind(channel: Channel, binding: Binding) {
  const { exchange, pattern } = binding;
  if ('queue' in binding) return channel.bindQueue(binding.queue, exchange, pattern);
  return channel.bindExchange(binding.toExchange, exchange, pattern);
}

/** RabbitMQ ignores an unbind for a missing binding, queue or exchange. */
function unbind(channel: Channel, binding: Binding) {
  const { exchange, pattern } = binding;
  if ('queue' in binding) return channel.unbindQueue(binding.queue, exchange, pattern);
  return channel.unbindExchange(binding.toExchange, exchange, pattern);
}

/** A refused declaration closes the channel with an 'error' event as well as rejecting; the rejection is enough. */
async function openChannel(model: ChannelModel): Promise<Channel> {
  const channel = await model.createChannel();
  channel.on('error', () => {});
  return channel;
}

/**
 * Declares a queue. One that an earlier version declared with other arguments is kept, because it holds messages and its arguments cannot be
 * changed; if it is ever deleted, it is declared again. @returns whether the channel is still open.
 */
async function declareQueue(
  channel: Channel,
  queue: Topology['queues'][number],
  options: ConnectionOptions,
): Promise<boolean> {
  const key = keyOf(queue, options);
  try {
    if (kept.has(key)) await channel.checkQueue(queue.name);
    else await channel.assertQueue(queue.name, { durable: queue.durable, arguments: queue.arguments });
    return true;
  } catch (error) {
    const { code } = error as { code?: number };
    if (code === notFound && kept.delete(key)) return false;
    if (code !== preconditionFailed) throw error;
    kept.add(key);
    options.log.warn(
      { 'amqp.queue': queue.name, 'amqp.arguments': queue.arguments, error },
      'a queue was declared earlier with other arguments and stays as it is; docs/reference/rabbitmq.md says which policy makes up for it',
    );
    return false;
  }
}

function keyOf(queue: Topology['queues'][number], { url }: ConnectionOptions): string {
  return `${url} ${queue.name}`;
}
