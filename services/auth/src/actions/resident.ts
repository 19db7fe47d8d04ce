/** How much memory a process takes, where the system says so in Linux’s way. */
import { readFile } from 'node:fs/promises';

const pageBytes = 4_096;

/** Undefined where it cannot be told. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => undefined);
  const pages = Number(text?.split(' ')[1]);
  return Number.isFinite(pages) ? pages * pageBytes : undefined;
}
