/** A process's memory, where the system reports it the way Linux does. */
import { readFile } from 'node:fs/promises';

const pageBytes = 4_096;

/** Undefined if it is unknown. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => undefined);
  const pages = Number(text?.split(' ')[1]);
  return Number.isFinite(pages) ? pages * pageBytes : undefined;
}
