/** What a person must know when a command cannot go on: a few lines, the last of which say what to do. Ends with status 1. */
export class Trouble extends Error {
  override name = 'Trouble';
  readonly lines: string[];
  constructor(...lines: string[]) {
    super(lines.join('\n'));
    this.lines = lines;
  }
}

/** A service that refuses its environment. */
export class BadConfiguration extends Trouble {
  override name = 'BadConfiguration';
}

/** The command was told to stop; everything that waits rejects with it. */
export class Stopped extends Error {
  override name = 'Stopped';
  readonly by: NodeJS.Signals;
  constructor(by: NodeJS.Signals) {
    super(`stopped by ${by}`);
    this.by = by;
  }
}

/** The last lines of a program's output, to be shown below what is wrong. */
export function endOf(output: string, lines = 15): string[] {
  return output
    .trimEnd()
    .split('\n')
    .slice(-lines)
    .map((line) => `  ${line}`);
}
