/**
 * Loaded into a dispatcher before its own code (`--import`): records each event's progress by its guid, and writes it out when the process ends.
 * It observes Node, amqplib and pg, so that the dispatcher's code knows nothing of it; for events with one hook and UUIDs as ids.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

/** Times in ms since 1970. */
export type Marks = Partial<Record<'arrived' | 'storing' | 'stored' | 'requested', number>> &
  Partial<Record<'responded' | 'recording' | 'recorded' | 'acked', number>>;
export type Traced = { marks: Record<string, Marks>; gcMs: number[]; loopDelayP99Ms: number };

const now = () => performance.timeOrigin + performance.now();
const marks = new Map<string, Marks>();
const mark = (guid: unknown, name: keyof Marks, at = now()) => {
  if (typeof guid !== 'string') return;
  const known = marks.get(guid) ?? {};
  if (!marks.has(guid)) marks.set(guid, known);
  known[name] ??= at;
};

const packages = fileURLToPath(new URL('../packages', import.meta.url));
const load = (path: string): unknown => createRequire(import.meta.url)(`${packages}/${path}`);

type Message = { fields: { deliveryTag: number }; properties: { headers?: Record<string, unknown> } } | null;
type Channel = {
  dispatchMessage(fields: unknown, message: Message): unknown;
  ack?(message: { fields: { deliveryTag: number } }, upTo?: boolean): void;
  inHand?: Map<number, unknown>;
};
const { BaseChannel } = load('amqp/node_modules/amqplib/lib/channel.js') as { BaseChannel: { prototype: Channel } };
const { dispatchMessage } = BaseChannel.prototype;
BaseChannel.prototype.dispatchMessage = function (fields, message) {
  const guid = message?.properties.headers?.['cloudEvents:id'];
  mark(guid, 'arrived');
  if (!this.inHand) watchAcks(this);
  if (guid !== undefined) this.inHand!.set(message!.fields.deliveryTag, guid);
  return dispatchMessage.call(this, fields, message);
};

function watchAcks(channel: Channel): void {
  const inHand = new Map<number, unknown>();
  const ack = channel.ack?.bind(channel);
  channel.inHand = inHand;
  channel.ack = (message, upTo) => {
    const { deliveryTag } = message.fields;
    for (const [tag, guid] of inHand) {
      if (tag !== deliveryTag && !(upTo && tag < deliveryTag)) continue;
      mark(guid, 'acked');
      inHand.delete(tag);
    }
    ack?.(message, upTo);
  };
}

type Query = { name?: string; values?: unknown[] };
type Client = { query(query: Query, values: unknown, done: unknown): unknown };
const { Client } = load('webhook-db/node_modules/pg/lib/index.js') as { Client: { prototype: Client } };
const { query } = Client.prototype;
Client.prototype.query = function (config, values, done) {
  const { name } = config;
  if (typeof done !== 'function' || !name) return query.call(this, config, values, done);
  const isStoring = name.startsWith('store events');
  if (!isStoring && name !== 'insert deliveries of events') return query.call(this, config, values, done);
  const rows = JSON.parse(config.values![0] as string) as { guid: string }[];
  const startedAt = now();
  for (const { guid } of rows) mark(guid, isStoring ? 'storing' : 'recording', startedAt);
  return query.call(this, config, values, (...answer: unknown[]) => {
    const at = now();
    for (const { guid } of rows) mark(guid, isStoring ? 'stored' : 'recorded', at);
    done(...answer);
  });
};

/** A delivery's headers go to Node as an array, which `getHeader` does not know: they are read where Node keeps them as it sends them. */
type Sent = { request: { _header: string } };
const guidOf = (message: unknown) => /^x-github-delivery: (\S+)/im.exec((message as Sent).request._header)?.[1];
subscribe('http.client.request.start', (message) => mark(guidOf(message), 'requested'));
subscribe('http.client.response.finish', (message) => mark(guidOf(message), 'responded'));

const gcMs: number[] = [];
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) gcMs.push(duration);
}).observe({ entryTypes: ['gc'] });
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

process.on('exit', () => {
  const traced: Traced = { marks: Object.fromEntries(marks), gcMs, loopDelayP99Ms: delay.percentile(99) / 1e6 };
  writeFileSync(process.env.TRACE_FILE!, JSON.stringify(traced));
});
