/** Writes to a connection's socket once per turn of the event loop, not once per frame: a system call costs more than building a frame. */
import type { Writable } from 'node:stream';
import type { ChannelModel } from 'amqplib';

/** amqplib 2 internals: moves frames from the channels to the socket. */
type Muxer = { out: Writable; _readIncoming(): void };

/** Call it on each new connection. */
export function writeTogether(model: ChannelModel): void {
  // Internals, missing from the typings.
  const { muxer } = model.connection as unknown as { muxer: Muxer };
  const move = muxer._readIncoming.bind(muxer);
  muxer._readIncoming = () => {
    muxer.out.cork();
    try {
      move();
    } finally {
      muxer.out.uncork();
    }
  };
}
