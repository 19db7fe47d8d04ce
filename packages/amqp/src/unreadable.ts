/**
 * A message whose properties amqplib cannot read (tables nested some thousand deep exhaust its stack) ends the connection, is redelivered on
 * the next one, and so on: a single one stalls a queue. Such messages are taken without their properties instead.
 */
import type { ChannelModel } from 'amqplib';
import type { ConnectionLog } from './connection.ts';

/** amqplib 2 internals: bytes read but not yet parsed, and the function that parses the first frame. */
type Reading = { rest: Buffer; recvFrame(): unknown };

/** Call it on each new connection, before consuming anything. */
export function takeUnreadable(model: ChannelModel, log: Pick<ConnectionLog, 'warn'>): void {
  const connection = model.connection as unknown as Reading; // internals, missing from the typings
  const receive = connection.recvFrame.bind(connection);
  connection.recvFrame = () => {
    const before = connection.rest;
    try {
      return receive();
    } catch (error) {
      const bare = withoutProperties(before);
      if (!bare) throw error;
      log.warn({ error }, 'a message has properties that cannot be read; it is taken without them');
      connection.rest = Buffer.concat([bare, connection.rest]);
      return receive();
    }
  };
}

const headerFrame = 2;
const frameEnd = 0xce;
/** Type, channel and length, before a frame's payload. */
const frameHeadBytes = 7;
/** Class, weight and the body's size, before a message's properties. */
const contentHeadBytes = 12;

/** The first frame with its properties removed, if it is a whole content header (AMQP 0-9-1, section 4.2.6.1). */
function withoutProperties(bytes: Buffer): Buffer | undefined {
  if (bytes.length < frameHeadBytes || bytes[0] !== headerFrame) return undefined;
  const length = bytes.readUInt32BE(3);
  if (length < contentHeadBytes || bytes.length < frameHeadBytes + length + 1) return undefined;
  const bare = Buffer.alloc(frameHeadBytes + contentHeadBytes + 2 + 1);
  bytes.copy(bare, 0, 0, frameHeadBytes + contentHeadBytes);
  bare.writeUInt32BE(contentHeadBytes + 2, 3);
  bare[bare.length - 1] = frameEnd;
  return bare;
}
