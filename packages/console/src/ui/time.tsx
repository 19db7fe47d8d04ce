import { useSyncExternalStore } from 'react';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** One shared timer, rather than one per row. */
const listeners = new Set<() => void>();
let now = Date.now();
setInterval(() => {
  now = Date.now();
  for (const listener of listeners) listener();
}, 5_000);
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** "3 min. ago", in the reader's zone; on hover the exact time in UTC. */
export function Time({ at, exact = false }: { at: string; exact?: boolean }) {
  const current = useSyncExternalStore(subscribe, () => now);
  const date = new Date(at);
  const seconds = (date.getTime() - Math.max(current, Date.now() - 5_000)) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  const text = exact
    ? absolute.format(date)
    : Math.abs(seconds) < 5
      ? 'now'
      : relative.format(Math.round(seconds / size), unit);
  return (
    <time dateTime={date.toISOString()} title={date.toISOString().replace('T', ' ').replace('Z', ' UTC')}>
      {text}
    </time>
  );
}
