/**
 * A producer in a separate process, started by its parent, so that its load on an event loop shared with others is not part of the measurement.
 * Arguments: the broker's URL, the subject, how many events.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openProducer } from '@gatepost/testkit/producer';
import { offer } from './offer.ts';

export type Flood = Disposable & {
  /** Publishes all events as fast as the broker confirms them. Resolves to their number and the seconds it took. */
  begin(): Promise<{ published: number; seconds: number }>;
};

/** Starts a producer that is connected and waits. */
export async function openFlood(amqpUrl: string, subject: string, total: number): Promise<Flood> {
  const child = fork(fileURLToPath(import.meta.url), [amqpUrl, subject, String(total)]);
  await once(child, 'message');
  return {
    async begin() {
      const ended = once(child, 'message');
      child.send('begin');
      return (await ended)[0] as { published: number; seconds: number };
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [amqpUrl, subject, total] = process.argv.slice(2) as [string, string, string];
  const producer = await openProducer(amqpUrl);
  process.send!('ready');
  await once(process, 'message');
  const from = performance.now();
  const published = await offer(producer, { rate: 1e6, total: Number(total), subjects: [subject] });
  process.send!({ published, seconds: (performance.now() - from) / 1_000 });
}
