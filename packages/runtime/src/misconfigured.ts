/** Thrown over what an operator wrote: a variable, a file, what stands in a database. `run` prints it plainly and exits with 78. */
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
