/** The frames of AMQP 0-9-1 (section 2.3 of its specification), for relays that look into them. */
import type { Socket } from 'node:net';
import type { Framed } from './relay.ts';

const types = new Map([
  [1, 'method'],
  [2, 'properties'],
  [3, 'body'],
]);

/** Calls `each` for every frame that `from` sends. */
export function join(from: Socket, frames: (chunk: Buffer) => Framed[], each: (frame: Framed) => void): void {
  from.on('data', (chunk) => {
    for (const frame of frames(chunk)) each(frame);
  });
}

/** Type, channel, length, payload, end; the client begins with eight bytes outside any frame. */
export function amqpFrame(hasHeader: boolean) {
  let isFirst = hasHeader;
  return (bytes: Buffer): Framed | undefined => {
    if (bytes.length < 8) return undefined;
    const length = isFirst ? 8 : 8 + bytes.readUInt32BE(3);
    if (bytes.length < length) return undefined;
    const type = isFirst ? 'header' : (types.get(bytes[0]!) ?? 'other');
    isFirst = false;
    return { type, bytes: bytes.subarray(0, length) };
  };
}

/** Whether a frame of the type `method` is this one. */
export const isMethod = (frame: Buffer, [group, method]: readonly [number, number]) =>
  frame.readUInt16BE(7) === group && frame.readUInt16BE(9) === method;
