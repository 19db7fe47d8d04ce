/** Thrown for mistakes of an operator: in a variable, a file, or the content of a database. `run` prints it plainly and exits with 78. */
export class Misconfigured extends Error {
  override name = 'Misconfigured';
  /** One line a problem, ready to print. */
  readonly problems: string[];
  /** @param advice a last line: what to do about them */
  constructor(what: string, problems: string[], advice?: string) {
    super([`${what}:`, ...problems.map((problem) => `  ${problem}`), ...(advice ? [advice] : [])].join('\n'));
    this.problems = problems;
  }
}
