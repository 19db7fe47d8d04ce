/** The costs of a target's processes, read from /proc. */
import { cpuSeconds, cpuSecondsOf, memoryOf } from '../processes.ts';
import { fill } from './target.ts';

/**
 * Whose CPU and memory to measure, by their names in the table: process ids, as numbers or as `{{env.NAME}}`; or a program's name, which
 * counts all its processes on this machine, including ended children.
 */
export type Parts = Record<string, string | (number | string)[]>;

/** @throws if it is not a process id */
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

/** Resident memory of the parts given by process ids. */
export function memory(parts: Parts): Record<string, number> {
  const memories = Object.values(parts).flatMap(pidsOf).map(memoryOf);
  return {
    'RSS MB': memories.reduce((sum, { nowMb }) => sum + nowMb, 0),
    'RSS peak MB': memories.reduce((sum, { peakMb }) => sum + peakMb, 0),
  };
}
