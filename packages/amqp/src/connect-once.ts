/** A connection for a single look, not restored when lost. */
import { setTimeout as wait } from 'node:timers/promises';
import { tlsFilesOf } from '@gatepost/runtime/tls-files';
import { splitUrls } from '@gatepost/runtime/urls';
import { type ChannelModel, connect } from 'amqplib';
import { brokersOf } from './brokers.ts';

const againMs = 200;

/** Tries each broker of the URL in turn, for the given number of rounds. */
export async function connectOnce(
  url: string,
  { name, timeoutMs, rounds }: { name: string; timeoutMs: number; rounds: number },
): Promise<ChannelModel> {
  const brokers = brokersOf(url);
  for (let left = splitUrls(url).length * rounds - 1; ; left -= 1)
    try {
      return await connect(brokers, {
        ...tlsFilesOf(url),
        clientProperties: { connection_name: name },
        timeout: timeoutMs,
        noDelay: true,
      });
    } catch (error) {
      if (left <= 0) throw error;
      await wait(againMs);
    }
}
