/** Thrown for an operator's mistakes: in a variable, a file, or a database's content. `run` prints it plainly and exits with 78. */
export class Misconfigured extends Error {
  override name = 'Misconfigured';
  /** One line per problem, ready to print. */
  readonly problems: string[];
  /** @param advice a last line: what to do about it */
  constructor(what: string, problems: string[], advice?: string) {
    super([`${what}:`, ...problems.map((problem) => `  ${problem}`), ...(advice ? [advice] : [])].join('\n'));
    this.problems = problems;
  }
}
