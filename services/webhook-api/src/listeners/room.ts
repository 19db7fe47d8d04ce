/** Whether a process may take one more delivery for a listener. Pure. */

/** What all deliveries may take that are under way in a process, but for a single one. */
const bytesMax = 128 * 1024 * 1024;
/** A listener that has no more than this under way is not held up by what others do not read. */
const shareBytes = 128 * 1024;

/** `own`: what is under way of its listener, `all`: of all of them, in bytes. */
export function hasRoom(bytes: number, { own, all }: { own: number; all: number }): boolean {
  return all === 0 || all + bytes <= bytesMax || own + bytes <= shareBytes;
}
