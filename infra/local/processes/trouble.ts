/** What a person must know when a command cannot go on: a few lines, the last of which say what to do. Ends with status 1. */
export class Trouble extends Error {
  override name = 'Trouble';
  readonly lines: string[];
  constructor(...lines: string[]) {
    super(lines.join('\n'));
    this.lines = lines;
  }
}

/** The command was told to stop; everything that waits rejects with it. */
export class Stopped extends Error {
  readonly by: NodeJS.Signals;
  constructor(by: NodeJS.Signals) {
    super(`stopped by ${by}`);
    this.by = by;
  }
}

/** The last lines of a program's output, to be shown below what is wrong. */
export function endOf(output: string): string[] {
  const lines = output.trimEnd().split('\n').slice(-15);
  return lines.map((line) => `  ${line}`);
}
