/** Whether a process may take one more delivery for a listener. Pure. */

/** What all deliveries under way in a process may take together, except a single large one. */
const bytesMax = 128 * 1024 * 1024;
/** A listener with no more than this under way is not held up by what others leave unread. */
const shareBytes = 128 * 1024;

/** Bytes under way: `own` for its listener, `all` for all listeners. */
export function hasRoom(bytes: number, { own, all }: { own: number; all: number }): boolean {
  return all === 0 || all + bytes <= bytesMax || own + bytes <= shareBytes;
}
