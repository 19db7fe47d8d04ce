/** The progress of an import, in a file next to the one being imported. */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../problem.ts';
import { clean } from '../terminal.ts';

/** What is imported, and where: the progress of one import says nothing about another. */
export type Import = {
  /** The file's SHA-256. */
  file: string;
  issuer: string;
  connection: string;
  upsert: boolean;
};

/** All lines up to `line` are done, or belong to `job`, which has those up to `jobLine`. */
export type State = Import & {
  line: number;
  inserted: number;
  updated: number;
  failed: number;
  job?: string;
  jobLines?: number[];
};

export async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** @throws Problem when the recorded progress is that of another import. */
export function readState(stateFile: string, wanted: Import): State {
  let text: string;
  try {
    text = readFileSync(stateFile, 'utf8');
  } catch {
    return { ...wanted, line: 0, inserted: 0, updated: 0, failed: 0 };
  }
  const state = JSON.parse(text) as State;
  const differing = (Object.keys(names) as (keyof Import)[]).find((each) => state[each] !== wanted[each]);
  if (differing)
    throw new Problem(
      'usage',
      `${names[differing]} is another one than when the import of this file began`,
      `To begin anew: rm ${clean(stateFile)}`,
    );
  return state;
}

const names: Record<keyof Import, string> = {
  file: 'the file',
  issuer: 'the gate',
  connection: 'the connection',
  upsert: 'the choice of --upsert',
};

/** @throws Problem when progress cannot be recorded: the people of the first part would be sent again each time, and refused. */
export function checkWritable(stateFile: string): void {
  try {
    writeFileSync(`${stateFile}.new`, '', { mode: 0o600 });
    rmSync(`${stateFile}.new`);
  } catch (error) {
    throw new Problem(
      'usage',
      `${clean(stateFile)} cannot be written: ${(error as NodeJS.ErrnoException).code}`,
      'It records how far the import is: copy the file of people to a folder where it can.',
    );
  }
}

/** Written whole or not at all, since the program may be interrupted at any time. */
export function writeState(stateFile: string, state: State): void {
  writeFileSync(`${stateFile}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${stateFile}.new`, stateFile);
}
