/**
 * Reads AMQP frames copying as little as can be. amqplib joins every piece that the socket brings with what is left of the one before, and
 * at last the frames of a message: a message of 24 MB is copied four times, which keeps everything behind it waiting for some 50 ms more, and
 * the last of these copies holds up the event loop for 20 to 40 ms.
 */
import type { Readable } from 'node:stream';
import type { ChannelModel } from 'amqplib';

/** What amqplib 2 has inside: what is read and not yet parsed, and the function that parses the first frame of it. */
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
/** Where a content header says how large the body is: behind class and weight (AMQP 0-9-1, section 4.2.6.1). */
const bodySizeAt = frameHeadBytes + 4;
const largeBytes = 1024 * 1024;

/** Call it on each new connection, before anything is consumed. */
export function readFrames(model: ChannelModel): void {
  const connection = model.connection as unknown as Reading; // how it reads, the typings leave out
  const decode = connection.recvFrame.bind(connection);
  const pieces = makePieces(connection.rest);
  /** Large bodies that are coming in, by channel. */
  const coming = new Map<number, { body: Buffer; at: number }>();

  const begin = (channel: number, size: number) => {
    // Threads can read it where it is. The system gives the memory page by page as it is written.
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
          // What is too large amqplib refuses.
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

/** What has come, in the pieces in which it came. */
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
    /** The first bytes; undefined when there are not so many. */
    peek(bytes: number): Buffer | undefined {
      if (length < bytes) return undefined;
      if (pieces[0]!.length < bytes) {
        const joined = Buffer.concat(pieces.splice(0));
        pieces.push(joined);
      }
      return pieces[0]!;
    },
    /** The first bytes, of which there are so many. */
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
