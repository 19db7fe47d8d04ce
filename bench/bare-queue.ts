/**
 * A RabbitMQ queue with nothing behind it: small messages at a steady rate beside other publishing, and how late they reach a consumer in a
 * separate process that does nothing else. No dispatcher that reads the same queue can be better.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { readFrames } from '@gatepost/amqp/read-frames';
import { connect } from 'amqplib';
import { payload } from './payload.ts';
import { quantile } from './quantile.ts';

const queue = 'gatepost.bench';
/** The first byte of measured messages. */
const mark = Buffer.from(' ');
const now = () => performance.timeOrigin + performance.now();

/** Publishes beside the small messages; `send` resolves when RabbitMQ has confirmed. */
export type OtherLoad = (send: (body: Buffer) => Promise<void>) => Promise<unknown>;

export async function measureBareQueue(
  amqpUrl: string,
  { rate, seconds, otherLoad }: { rate: number; seconds: number; otherLoad: OtherLoad },
): Promise<{ p50: number; p99: number }> {
  const [publishing, other] = await Promise.all([1, 2].map(() => connect(amqpUrl, { noDelay: true })));
  const [channel, otherChannel] = await Promise.all([publishing!, other!].map((one) => one.createConfirmChannel()));
  await channel!.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
  const consumer = fork(fileURLToPath(import.meta.url), [amqpUrl]);
  await once(consumer, 'message');
  const otherPublishing = otherLoad(
    (body) =>
      new Promise((resolve, reject) => {
        otherChannel!.sendToQueue(queue, body, { persistent: true }, (error) => (error ? reject(error) : resolve()));
      }),
  );
  const from = performance.now();
  for (let sent = 0; sent < rate * seconds; await new Promise((resolve) => setTimeout(resolve, 2)))
    for (; sent < ((performance.now() - from) / 1_000) * rate; sent += 1)
      channel!.sendToQueue(queue, Buffer.concat([mark, payload(now())]), { persistent: true });
  await Promise.all([otherPublishing, channel!.waitForConfirms()]);
  await new Promise((resolve) => setTimeout(resolve, 500)); // until the last ones arrive
  const latencies = await latenciesOf(consumer);
  await channel!.deleteQueue(queue);
  await Promise.all([publishing!.close(), other!.close()]);
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

async function latenciesOf(consumer: ChildProcess): Promise<number[]> {
  const report = once(consumer, 'message');
  consumer.send('report');
  const [latencies] = (await report) as [number[]];
  return latencies;
}

async function consume(amqpUrl: string): Promise<void> {
  const latencies: number[] = [];
  const model = await connect(amqpUrl, { noDelay: true });
  readFrames(model);
  const channel = await model.createChannel();
  await channel.prefetch(1_000);
  await channel.consume(queue, (message) => {
    if (!message) return;
    const sentAt = /^ \{"sent_at":([\d.]+)/.exec(message.content.toString('latin1', 0, 64));
    if (sentAt) latencies.push(now() - Number(sentAt[1]));
    channel.ack(message);
  });
  process.send!('ready');
  process.once('message', () => process.send!(latencies, () => process.exit()));
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) await consume(process.argv[2]!);
