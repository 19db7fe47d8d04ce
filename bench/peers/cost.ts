/** What the processes of a target cost, read from /proc. */
import { cpuSeconds, cpuSecondsOf, memoryOf } from '../processes.ts';
import { fill } from './target.ts';

/**
 * Whose CPU and memory, by what they are called in the table: process ids, as numbers or as `{{env.NAME}}`; or a program's name, whose processes
 * on this machine then all count, with those of its children that have ended.
 */
export type Parts = Record<string, string | (number | string)[]>;

/** @throws for an id that is none */
function pidsOf(part: Parts[string]): number[] {
  if (typeof part === 'string') return [];
  const pids = fill(part, {}).map(Number);
  if (!pids.every((pid) => Number.isSafeInteger(pid) && pid > 0)) throw new Error(`no process ids: ${part.join(', ')}`);
  return pids;
}

/** CPU seconds of each part so far. */
export function cpuOf(parts: Parts): Record<string, number> {
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [
      name,
      typeof part === 'string' ? cpuSecondsOf(part) : pidsOf(part).reduce((sum, pid) => sum + cpuSeconds(pid), 0),
    ]),
  );
}

/** CPU seconds per 1,000 of each part. */
export function perThousand(before: Record<string, number>, after: Record<string, number>, done: number) {
  return Object.fromEntries(
    Object.entries(after).map(([name, seconds]) => [`CPU ${name}`, ((seconds - before[name]!) / done) * 1_000]),
  );
}

/** Resident memory of the parts that are told by their process ids. */
export function memory(parts: Parts): Record<string, number> {
  const memories = Object.values(parts).flatMap(pidsOf).map(memoryOf);
  return {
    'RSS MB': memories.reduce((sum, { nowMb }) => sum + nowMb, 0),
    'RSS peak MB': memories.reduce((sum, { peakMb }) => sum + peakMb, 0),
  };
}
