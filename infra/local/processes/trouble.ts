import { readFileSync } from 'node:fs';

/** Why a command cannot go on: a few lines for a person, the last of which say what to do. Ends with status 1. */
export class Trouble extends Error {
  constructor(...lines: string[]) {
    super(lines.join('\n'));
  }
}

/** The last lines of a program's output, to show below an error. */
export const endOf = (output: string) => output.trimEnd().replace(/^/gm, '  ').split('\n').slice(-15);

/** Those of a log. */
export const logEnd = (path: string) => endOf(readFileSync(path, 'utf8'));
