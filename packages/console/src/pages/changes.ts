/** What was changed in a form since its values were read, field by field: saving only this keeps concurrent changes by others. */
export function changesOf<T extends object>(before: T, now: T): Partial<T> {
  const names = (Object.keys(now) as (keyof T)[]).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]),
  );
  return Object.fromEntries(names.map((name) => [name, changeOf(before[name], now[name])])) as Partial<T>;
}

/** A list is one value. */
const changeOf = (before: unknown, now: unknown) => (isRecord(before) && isRecord(now) ? changesOf(before, now) : now);

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
