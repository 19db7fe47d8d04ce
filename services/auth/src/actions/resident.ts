/** A process's memory, where the system reports it the way Linux does. */
import { readFile } from 'node:fs/promises';

const pageBytes = 4_096;

/** Undefined if the system does not report it, or the process is gone. @throws if it cannot be read now, for want of a descriptor */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/statm`, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const pages = Number(text?.split(' ')[1]);
  return Number.isFinite(pages) ? pages * pageBytes : undefined;
}
