/**
 * Frees memory after large messages. Their buffers lie outside V8's heap, while only heap growth makes V8 collect. Each buffer is mapped
 * separately, and thus returned to the system, because the start script sets MALLOC_MMAP_THRESHOLD_.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { largeBytes } from './large-bytes.ts';

/** Bytes of large messages handled between collections: one takes some 20 ms, and more while the machine is busy with such messages. */
const everyBytes = 16 * 1024 * 1024;
/** The same while other large messages are in hand. */
const meanwhileBytes = 32 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

let inHand = 0;
let bytes = 0;

/** Notes that a message of this size has arrived or is being read back. */
export function acquired(size: number): void {
  if (size >= largeBytes) inHand += 1;
}

/** Notes that it is done. */
export function released(size: number): void {
  if (size < largeBytes) return;
  inHand -= 1;
  bytes += size;
  if (bytes < (inHand > 0 ? meanwhileBytes : everyBytes)) return;
  bytes = 0;
  // Delayed until the caller has let go of the message.
  setTimeout(collect, 100).unref();
}
