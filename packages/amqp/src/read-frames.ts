/**
 * Reads AMQP frames with as little copying as possible. amqplib joins every piece from the socket with what was left of the one before, and
 * finally the frames of a message: a message of 24 MB is copied four times, which delays everything behind it by some 50 ms, and the last of
 * these copies blocks the event loop for 20 to 40 ms.
 */
import type { Readable } from 'node:stream';
import type { ChannelModel } from 'amqplib';

/** amqplib 2 internals: bytes read but not yet parsed, and the function that parses the first frame. */
type Reading = {
  rest: Buffer;
  maxFrameSize: number;
  stream: Readable;
  recvSinceLastCheck: boolean;
  recvFrame(): unknown;
};

const headerFrame = 2;
const bodyFrame = 3;
const frameEnd = 0xce;
/** Type, channel and length. */
const frameHeadBytes = 7;
/** The offset of the body size in a content header, behind class and weight (AMQP 0-9-1, section 4.2.6.1). */
const bodySizeAt = frameHeadBytes + 4;
const largeBytes = 1024 * 1024;

/** Call it on each new connection, before consuming anything. */
export function readFrames(model: ChannelModel): void {
  const connection = model.connection as unknown as Reading; // internals, missing from the typings
  const decode = connection.recvFrame.bind(connection);
  const pieces = makePieces(connection.rest);
  /** Large bodies being received, by channel. */
  const coming = new Map<number, { body: Buffer; at: number }>();

  const begin = (channel: number, size: number) => {
    // Threads can read it in place. The system maps its memory page by page on writing.
    if (size > largeBytes) coming.set(channel, { body: Buffer.from(new SharedArrayBuffer(size)), at: 0 });
    else coming.delete(channel);
  };
  connection.recvFrame = () => {
    for (;;) {
      const head = pieces.peek(frameHeadBytes);
      const size = head?.readUInt32BE(3) ?? 0;
      const bytes = frameHeadBytes + size + 1;
      const isRefused = connection.maxFrameSize > 0 && size > connection.maxFrameSize;
      if (head && (isRefused || pieces.length() >= bytes)) {
        const [type, channel] = [head[0], head.readUInt16BE(1)];
        const large = type === bodyFrame && !isRefused ? coming.get(channel) : undefined;
        if (!large || size > large.body.length - large.at) {
          // amqplib refuses frames that are too large.
          connection.rest = pieces.take(Math.min(bytes, pieces.length()));
          if (type === headerFrame && size >= bodySizeAt - frameHeadBytes + 8)
            begin(channel, Number(connection.rest.readBigUInt64BE(bodySizeAt)));
          return decode();
        }
        pieces.take(frameHeadBytes);
        pieces.moveTo(large.body.subarray(large.at, large.at + size));
        if (pieces.take(1)[0] !== frameEnd) throw new Error('Invalid frame');
        large.at += size;
        if (large.at < large.body.length) continue;
        coming.delete(channel);
        return { channel, content: large.body };
      }
      const read = connection.stream.read() as Buffer | null;
      if (read === null) return false;
      connection.recvSinceLastCheck = true;
      pieces.add(read);
    }
  };
}

/** The bytes received, in the pieces in which they arrived. */
function makePieces(first: Buffer) {
  const pieces = first.length > 0 ? [first] : [];
  let length = first.length;
  const moveTo = (target: Buffer) => {
    length -= target.length;
    for (let at = 0; at < target.length; ) {
      const piece = pieces[0]!;
      const moved = piece.copy(target, at);
      at += moved;
      if (moved === piece.length) pieces.shift();
      else pieces[0] = piece.subarray(moved);
    }
  };
  return {
    length: () => length,
    add(piece: Buffer) {
      pieces.push(piece);
      length += piece.length;
    },
    /** The first bytes; undefined when there are fewer. */
    peek(bytes: number): Buffer | undefined {
      if (length < bytes) return undefined;
      if (pieces[0]!.length < bytes) {
        const joined = Buffer.concat(pieces.splice(0));
        pieces.push(joined);
      }
      return pieces[0]!;
    },
    /** Removes and returns the first bytes, which must be there. */
    take(bytes: number): Buffer {
      const piece = pieces[0]!;
      if (piece.length < bytes) {
        const joined = Buffer.allocUnsafeSlow(bytes);
        moveTo(joined);
        return joined;
      }
      length -= bytes;
      if (piece.length === bytes) pieces.shift();
      else pieces[0] = piece.subarray(bytes);
      return piece.subarray(0, bytes);
    },
    /** Fills the target with the first bytes. */
    moveTo,
  };
}
