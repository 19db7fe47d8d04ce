/** A payload as a form, `payload=…`, in WHATWG form encoding, which Java receivers can reproduce byte for byte with URLEncoder. */
import { jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import { largeBytes } from '../routing/large-bytes.ts';
import { inSlices, inTurn } from './large-bodies.ts';

/** Encoding this much takes two milliseconds. */
const sliceBytes = 16 * 1024;

/** Deliveries of one event share its payload, and hence its encoded form. */
const known = new WeakMap<Buffer, Promise<Buffer>>();

export function formBody(payload: Buffer): Promise<Buffer> {
  const shared = known.get(payload);
  if (shared) return shared;
  const body = encoded(payload);
  known.set(payload, body);
  return body;
}

async function encoded(payload: Buffer): Promise<Buffer> {
  if (payload.length <= jobBodyMaxBytes) return encode(payload);
  const parts = [encode(nothing)];
  const encodeRest = () =>
    inSlices(payload, sliceBytes, (slice) => parts.push(encode(slice).subarray(parts[0]!.length)), startOfCharacter);
  await (payload.length > largeBytes ? inTurn(encodeRest) : encodeRest());
  return Buffer.concat(parts);
}

const nothing = Buffer.alloc(0);
const encode = (payload: Buffer) => Buffer.from(new URLSearchParams({ payload: payload.toString('utf8') }).toString());

/** The nearest place at or before `end` that divides no character; the end itself where the bytes are no UTF-8. */
function startOfCharacter(body: Buffer, end: number): number {
  for (let at = end; at > end - 4; at -= 1) if (at === body.length || (body[at]! & 0xc0) !== 0x80) return at;
  return end;
}
