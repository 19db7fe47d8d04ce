/**
 * Looks a password up in a file of "Pwned Passwords", ordered by hash (https://haveibeenpwned.com/Passwords). Each line has a SHA-1 and
 * perhaps its count (`…:42`), with LF or CRLF. The file has some 40 GB, so it is searched in place, with about thirty short reads. It
 * is opened for each lookup, so that it can be replaced by a newer one at any time.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import type { Lookup } from './source.ts';

const blockBytes = 4_096;
/** Longer than any line. */
const lineMaxBytes = 128;
const line = /^[0-9a-f]{40}(?::\d+)?\r?$/i;

/** @throws Misconfigured when there is no such file */
export function makeFileLookup(path: string): Lookup {
  checkStart(path);
  return async (sha1) => {
    await using file = await open(path);
    return await search(file, (await file.stat()).size, sha1);
  };
}

/** The wanted line begins in [low, high), and `low` is the beginning of a line. */
async function search(file: FileHandle, size: number, sha1: string): Promise<boolean> {
  let [low, high] = [0, size];
  while (high - low > blockBytes) {
    const middle = Math.floor((low + high) / 2);
    // The first line that begins after the middle.
    const text = await read(file, middle, 2 * lineMaxBytes);
    const start = text.indexOf('\n') + 1;
    if (start === 0 && text.length === 2 * lineMaxBytes) throw malformed();
    const [found = ''] = text.slice(start).split('\n', 1);
    if (start === 0 || found === '' || middle + start >= high) {
      high = middle + 1;
      continue;
    }
    const key = keyOf(found);
    if (key === sha1) return true;
    if (key < sha1) low = middle + start;
    else high = middle + start;
  }
  const lines = (await read(file, low, high - low + lineMaxBytes)).split('\n');
  let begins = low;
  for (const found of lines) {
    if (begins >= high || found === '') return false;
    if (keyOf(found) === sha1) return true;
    begins += found.length + 1;
  }
  return false;
}

async function read(file: FileHandle, position: number, length: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.toString('latin1', 0, bytesRead);
}

function keyOf(text: string): string {
  if (!line.test(text)) throw malformed();
  return text.slice(0, 40).toUpperCase();
}

const malformed = () => new Error('the file is no list of SHA-1 hashes');

function checkStart(path: string): void {
  const problem = (text: string) => new Misconfigured('bad environment', [`BREACHED_PASSWORDS: ${text}`]);
  let start: string;
  try {
    const file = openSync(path, 'r');
    const bytes = Buffer.alloc(lineMaxBytes);
    start = bytes.toString('latin1', 0, readSync(file, bytes, 0, lineMaxBytes, 0));
    closeSync(file);
  } catch (error) {
    throw problem(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if (!line.test(start.split('\n', 1)[0]!)) throw problem(`${path} does not begin with a SHA-1 hash`);
}
