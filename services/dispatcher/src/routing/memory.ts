/**
 * Gives memory back after large messages. Their buffers lie outside V8's heap, whose growth alone makes it collect; and they
 * are mapped on their own, hence returned to the system, because the start script fixes MALLOC_MMAP_THRESHOLD_.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of large messages handled between two collections; one takes some 10 ms. */
const everyBytes = 16 * 1024 * 1024;
const largeBytes = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

let bytes = 0;

/** Notes that a message of this size has been dealt with. */
export function released(size: number): void {
  if (size < largeBytes) return;
  bytes += size;
  if (bytes < everyBytes) return;
  bytes = 0;
  // Once whoever called us has let go of the message.
  setTimeout(collect, 100).unref();
}
