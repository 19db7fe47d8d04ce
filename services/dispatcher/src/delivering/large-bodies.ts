/** How work on the bytes of large bodies leaves turns of the event loop to everything else. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeInTurn } from '@gatepost/runtime/in-turn';

/** Passes slices of a body to `work`, with a turn for everything else after each. `endOf` may move the end of a slice. */
export async function inSlices(
  body: Buffer,
  sliceBytes: number,
  work: (slice: Buffer) => void,
  endOf: (body: Buffer, end: number) => number = (_body, end) => end,
): Promise<void> {
  for (let start = 0; start < body.length; ) {
    const end = endOf(body, Math.min(start + sliceBytes, body.length));
    work(body.subarray(start, end));
    start = end;
    await nextTurn();
  }
}

/** One large body at a time: twenty at once would take twenty slices per turn. */
export const inTurn = makeInTurn();
