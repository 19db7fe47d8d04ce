/**
 * Shares the answer to a costly question among all callers: only one asks at a time, and the answer is kept for `keptMs`, or for as long as it
 * took. So even constant asking takes up half the time at most. A failure is not kept.
 */
export function makeSharedAnswer<T>(
  ask: () => Promise<T>,
  keptMs: number,
  now = () => performance.now(),
): () => Promise<T> {
  let known: { answer: Promise<T>; untilMs: number } | undefined;
  return () => {
    if (known && now() < known.untilMs) return known.answer;
    const askedAt = now();
    const asked = { answer: ask(), untilMs: Number.POSITIVE_INFINITY };
    known = asked;
    asked.answer.then(
      () => {
        asked.untilMs = now() + Math.max(keptMs, now() - askedAt);
      },
      () => {
        known = undefined; // the caller gets the error
      },
    );
    return asked.answer;
  };
}
