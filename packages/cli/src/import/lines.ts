/** The lines of a file of people: Auth0's links give gzipped ones, and some programs begin a text with a byte order mark. */
import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Problem } from '../problem.ts';

/** `bytesRead`: of the file itself. */
export function openLines(file: string): { lines: AsyncGenerator<string>; bytesRead(): number } {
  const source = createReadStream(file);
  const unpacked = isGzip(file) ? pipeline(source, createGunzip(), () => {}) : source; // its errors end the lines
  return { lines: split(unpacked, file), bytesRead: () => source.bytesRead };
}

async function* split(bytes: AsyncIterable<Buffer>, file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(); // which leaves the mark out
  let rest = '';
  try {
    for await (const part of bytes) {
      const lines = decoder.decode(part, { stream: true }).split('\n'); // to JSON the rest of CRLF is a space
      lines[0] = `${rest}${lines[0]}`;
      rest = lines.pop()!;
      yield* lines;
    }
  } catch (error) {
    throw new Problem('failed', `${file} cannot be read to its end: ${(error as Error).message}`);
  }
  if (rest !== '') yield rest;
}

/** By its first two bytes (RFC 1952). */
function isGzip(file: string): boolean {
  const opened = openSync(file, 'r');
  const head = Buffer.alloc(2);
  readSync(opened, head);
  closeSync(opened);
  return head.equals(Buffer.from([0x1f, 0x8b]));
}
