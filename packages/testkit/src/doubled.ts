/**
 * A broker that gets every message twice, as after a lost confirm: a relay in front of the real one publishes each message once more, byte
 * for byte, on a channel of its own and a moment later, so that copies arrive in a different order.
 */
import { amqpFrame, isMethod, join } from './amqp-frames.ts';
import { type Framed, makeFrames, openRelay, type Relay } from './relay.ts';

export type Doubled = Relay & { copies(): number };

/** `laterMs`: how long after its message a copy is published. */
export async function openDoubled(amqpUrl: string, laterMs: () => number): Promise<Doubled> {
  let copies = 0;
  const relay = await openRelay(amqpUrl, (client, server) => {
    const messages = new Map<number, { frames: Buffer[]; left: number }>();
    let isOpen = false;

    const publishLater = (frames: Buffer[]) => {
      setTimeout(() => {
        if (!server.writable) return;
        if (!isOpen) server.write(methodFrame(copiesChannel, channelOpen));
        isOpen = true;
        for (const frame of frames) server.write(onChannel(copiesChannel, frame));
        copies += 1;
      }, laterMs()).unref();
    };
    const fromClient = ({ type, bytes }: Framed) => {
      server.write(bytes);
      if (type === 'header') return;
      const channel = bytes.readUInt16BE(1);
      if (type === 'method') {
        if (isMethod(bytes, basicPublish)) messages.set(channel, { frames: [withoutMandatory(bytes)], left: -1 });
        return;
      }
      const message = messages.get(channel);
      if (!message) return;
      message.frames.push(Buffer.from(bytes));
      if (type === 'properties') message.left = Number(bytes.readBigUInt64BE(11));
      else if (type === 'body') message.left -= bytes.length - 8;
      if (message.left > 0) return;
      messages.delete(channel);
      publishLater(message.frames);
    };
    const fromServer = ({ type, bytes }: Framed) => {
      if (type === 'header' || bytes.readUInt16BE(1) !== copiesChannel) client.write(bytes);
    };
    join(client, makeFrames(amqpFrame(true)), fromClient);
    join(server, makeFrames(amqpFrame(false)), fromServer);
  });
  return Object.assign(relay, { copies: () => copies });
}

/** Far above the channels that clients open, and below RabbitMQ's default maximum of 2047. */
const copiesChannel = 2_000;
const channelOpen = Buffer.from([0, 20, 0, 10, 0]);
const basicPublish = [60, 40] as const;
/** The flags are the last byte before the end. A copy that no queue takes must not disturb anybody. */
function withoutMandatory(frame: Buffer): Buffer {
  const copy = Buffer.from(frame);
  copy[copy.length - 2] = 0;
  return copy;
}

function onChannel(channel: number, frame: Buffer): Buffer {
  const copy = Buffer.from(frame);
  copy.writeUInt16BE(channel, 1);
  return copy;
}

function methodFrame(channel: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(7);
  head[0] = 1;
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
}
