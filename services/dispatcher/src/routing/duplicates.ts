/** Which messages of a batch are duplicates: of their event nothing further follows. Pure. */

export type Candidate = {
  key: string;
  /** The row was stored with this batch. */
  isNew: boolean;
  /** What follows from the row is in RabbitMQ's hands. */
  isRouted: boolean;
  /** The message was in somebody's hands before. */
  redelivered: boolean;
};

/**
 * A row without `routed_at` that was there before belongs to somebody who has not finished. If one of its messages was in other
 * hands before (or we tried before: `mayBeHalfDone`), they may have died over it, and we go on with it, once; otherwise they work
 * on it now. The message that was in other hands need not be the first of its event in the batch: a producer that missed a
 * confirm has published a copy, and that may come before it.
 */
export function findDuplicates(batch: readonly Candidate[], mayBeHalfDone: boolean): boolean[] {
  const abandoned = new Set(batch.filter(({ redelivered }) => redelivered || mayBeHalfDone).map(({ key }) => key));
  const seen = new Set<string>();
  return batch.map(({ key, isNew, isRouted }) => {
    const isDuplicate = seen.has(key) || (!isNew && (isRouted || !abandoned.has(key)));
    seen.add(key);
    return isDuplicate;
  });
}
