/** Messages that amqplib would not write. */
import { connect } from 'amqplib';

/** Publishes to a queue, with these bytes as the table of headers. Resolves when the broker has read it. */
export async function publishRaw(amqpUrl: string, queue: string, headers: Buffer, body: Buffer): Promise<void> {
  const publishing = await connect(amqpUrl);
  const channel = await publishing.createChannel();
  const { stream } = publishing.connection as unknown as { stream: NodeJS.WritableStream };
  stream.write(rawMessage(1, queue, headers, body));
  await channel.close();
  await publishing.close();
}

/** basic.publish to a queue, with these bytes as the table of headers: amqplib would not write them. */
function rawMessage(channel: number, queue: string, headers: Buffer, body: Buffer): Buffer {
  const publish = Buffer.concat([
    Buffer.from([0, 60, 0, 40, 0, 0, 0, queue.length]),
    Buffer.from(queue),
    Buffer.from([0]),
  ]);
  const head = Buffer.alloc(18);
  head.writeUInt16BE(60, 0);
  head.writeBigUInt64BE(BigInt(body.length), 4);
  head.writeUInt16BE(0x2000, 12); // headers, and no other property
  head.writeUInt32BE(headers.length, 14);
  return Buffer.concat([
    frame(1, channel, publish),
    frame(2, channel, Buffer.concat([head, headers])),
    frame(3, channel, body),
  ]);
}

function frame(type: number, channel: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(7);
  head[0] = type;
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
}
