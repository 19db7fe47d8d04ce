/** Writes to a connection's socket once a turn of the event loop, not once a frame: a system call costs more than making the frame. */
import type { Writable } from 'node:stream';
import type { ChannelModel } from 'amqplib';

/** What amqplib 2 has inside: what moves frames from the channels to the socket. */
type Muxer = { out: Writable; _readIncoming(): void };

/** Call it on each new connection. */
export function writeTogether(model: ChannelModel): void {
  // How it writes, the typings leave out.
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
