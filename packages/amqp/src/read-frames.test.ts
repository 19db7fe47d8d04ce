import { expect, test } from '@jest/globals';
import type { ChannelModel } from 'amqplib';
import { readFrames } from './read-frames.ts';

const [method, header, body, heartbeat] = [1, 2, 3, 8];
const max = 2_000_000;
const size = 1024 * 1024 + 5;

function frame(type: number, channel: number, payload = Buffer.alloc(0), length = payload.length): Buffer {
  const head = Buffer.alloc(7);
  head[0] = type;
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(length, 3);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
}

/** A content header for a body of that size, without properties. */
function announcing(channel: number, bytes: number): Buffer {
  const payload = Buffer.alloc(14);
  payload.writeBigUInt64BE(BigInt(bytes), 4);
  return frame(header, channel, payload);
}

/** What comes of these pieces: of each frame where it is from and what is in it, with a part of amqplib that parses one frame at a time. */
function read(pieces: Buffer[]) {
  const parse = (bytes: Buffer) => {
    const length = bytes.readUInt32BE(3);
    if (length > max) throw new Error(`Frame size ${length} exceeds`);
    return { channel: bytes.readUInt16BE(1), content: bytes.subarray(7, 7 + length) };
  };
  const left = [...pieces];
  const connection = {
    rest: Buffer.alloc(0),
    maxFrameSize: max,
    stream: { read: () => left.shift() ?? null },
    recvFrame: (): unknown => parse(connection.rest),
  };
  readFrames({ connection } as unknown as ChannelModel);
  const frames: [channel: number, content: Buffer][] = [];
  for (let one = connection.recvFrame(); one; one = connection.recvFrame()) {
    const { channel, content } = one as ReturnType<typeof parse>;
    frames.push([channel, content]);
  }
  return frames;
}

test('large bodies of two channels arrive whole among other frames, wherever the stream is cut', () => {
  const first = Buffer.alloc(size, 'abc');
  const second = Buffer.alloc(size, 'defg');
  const frames = [
    announcing(1, size),
    frame(heartbeat, 0),
    frame(body, 1, first.subarray(0, 100_000)),
    announcing(2, size),
    frame(body, 2, second.subarray(0, 1)),
    frame(body, 1),
    frame(method, 3, Buffer.from('other')),
    frame(body, 1, first.subarray(100_000)),
    frame(body, 2, second.subarray(1)),
    announcing(1, 3),
    frame(body, 1, Buffer.from('end')),
  ];
  const all = Buffer.concat(frames);
  const wanted = [1, 0, 2, 3, 1, 2, 1, 1];
  const ends = frames.map((_, index) => Buffer.concat(frames.slice(0, index + 1)).length);
  const cuts = ends.flatMap((end) => Array.from({ length: 12 }, (_, index) => end - 2 + index));
  for (const cut of cuts) {
    const got = read([all.subarray(0, cut), all.subarray(cut)]);
    expect(got.map(([channel]) => channel)).toEqual(wanted);
    expect([got[4]![1].equals(first), got[5]![1].equals(second), got[7]![1].toString()]).toEqual([true, true, 'end']);
  }
});

test('a frame larger than agreed is refused, even within a large body', () => {
  const tooLarge = frame(body, 1, Buffer.alloc(10), max + 1);
  expect(() => read([announcing(1, 2 * max), tooLarge])).toThrow('exceeds');
});
