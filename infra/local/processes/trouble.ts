/** Why a command cannot go on: a few lines for a person, the last of which say what to do. Ends with status 1. */
export class Trouble extends Error {
  override name = 'Trouble';
  constructor(...lines: string[]) {
    super(lines.join('\n'));
  }
}

/** The last lines of a program's output, to show below an error. */
export function endOf(output: string): string[] {
  const lines = output.trimEnd().split('\n').slice(-15);
  return lines.map((line) => `  ${line}`);
}
