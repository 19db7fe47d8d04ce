/**
 * A message whose properties amqplib cannot read (tables nested some thousand deep, which exhaust its stack) ends the connection,
 * is delivered again on the next one, and so on: one such message stalls a queue. It is taken without its properties instead.
 */
import type { ChannelModel } from 'amqplib';
import type { ConnectionLog } from './connection.ts';

/** What amqplib 2 has inside: what is read and not yet parsed, and the function that parses the first frame of it. */
type Reading = { rest: Buffer; recvFrame(): unknown };

/** Call it on each new connection, before anything is consumed. */
export function takeUnreadable(model: ChannelModel, log: Pick<ConnectionLog, 'warn'>): void {
  const connection = model.connection as unknown as Reading; // how it reads, the typings leave out
  const receive = connection.recvFrame.bind(connection);
  connection.recvFrame = () => {
    const before = connection.rest;
    try {
      return receive();
    } catch (error) {
      const bare = withoutProperties(before);
      if (!bare) throw error;
      log.warn({ error }, 'a message came whose properties cannot be read; it is taken without them');
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

/** The first frame, if it is a whole content header (AMQP 0-9-1, section 4.2.6.1), with no property. */
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
