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

/** What a form shows once `sent` is saved: what is saved now, with what was changed in the form meanwhile. */
export const withLater = <T extends object>(saved: T, sent: T, now: T): T => merge(saved, changesOf(sent, now));

function merge<T extends object>(saved: T, changes: Partial<T>): T {
  const merged = Object.entries(changes).map(([name, value]) => {
    const before = saved[name as keyof T];
    return [name, isRecord(before) && isRecord(value) ? merge(before, value) : value];
  });
  return { ...saved, ...Object.fromEntries(merged) };
}
