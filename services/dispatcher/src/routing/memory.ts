/**
 * Frees memory after large messages. Their buffers lie outside V8's heap, and only the heap's growth makes V8 collect. They are mapped one
 * by one, hence returned to the system, because the start script sets MALLOC_MMAP_THRESHOLD_.
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
  // When the caller has let go of the message.
  setTimeout(collect, 100).unref();
}
