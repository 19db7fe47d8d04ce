/** A broker that does not get the acknowledgements of its clients, as when their connection breaks just then: a relay in front of the real one. */
import { amqpFrame, isMethod, join } from './amqp-frames.ts';
import { makeFrames, openRelay, type Relay } from './relay.ts';

export type LostAcks = Relay & {
  /** From now on acknowledgements are lost. */
  lose(): void;
};

const basicAck = [60, 80] as const;

export async function openLostAcks(amqpUrl: string): Promise<LostAcks> {
  let isLosing = false;
  const relay = await openRelay(amqpUrl, (client, server) => {
    join(client, makeFrames(amqpFrame(true)), ({ type, bytes }) => {
      if (!(isLosing && type === 'method' && isMethod(bytes, basicAck))) server.write(bytes);
    });
    server.pipe(client);
  });
  return Object.assign(relay, {
    lose() {
      isLosing = true;
    },
  });
}
