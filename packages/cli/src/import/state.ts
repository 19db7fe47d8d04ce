/** The progress of an import, in a file next to the one being imported. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Problem } from '../problem.ts';
import { clean } from '../terminal.ts';

/** All lines up to `line` are done, or belong to `job`, which has those up to `jobLine`. */
export type State = {
  bytes: number;
  line: number;
  inserted: number;
  updated: number;
  failed: number;
  job?: string;
  jobLines?: number[];
};

/** @throws Problem when the file has changed since. */
export function readState(stateFile: string, bytes: number): State {
  let text: string;
  try {
    text = readFileSync(stateFile, 'utf8');
  } catch {
    return { bytes, line: 0, inserted: 0, updated: 0, failed: 0 };
  }
  const state = JSON.parse(text) as State;
  if (state.bytes !== bytes)
    throw new Problem(
      'usage',
      'the file is another one than when its import began',
      `To begin anew: rm ${clean(stateFile)}`,
    );
  return state;
}

/** Written whole or not at all, since the program may be interrupted at any time. */
export function writeState(stateFile: string, state: State): void {
  writeFileSync(`${stateFile}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${stateFile}.new`, stateFile);
}
