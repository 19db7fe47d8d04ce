/** Programs that do one thing and end. */
import { existsSync, realpathSync } from 'node:fs';
import { misconfiguredBy } from './start-trouble.ts';
import { causesOf, isAway } from './store-errors.ts';

/** Whether Node was started with this file (`import.meta.filename`). Node 20 lacks `import.meta.main`: a program would do nothing and exit with 0. */
export function isProgram(file: string): boolean {
  const started = process.argv[1];
  // Node also finds `dist/migrations.js` as `dist/migrations`.
  return [started, `${started}.js`].some((path) => path && existsSync(path) && realpathSync(path) === file);
}

/**
 * Runs a program. What its operator has to change is printed plainly, with exit status 78 (EX_CONFIG), and a store that is away with 69
 * (EX_UNAVAILABLE).
 */
export async function runProgram(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const wrong = misconfiguredBy(error);
    if (!wrong && !isAway(error)) throw error;
    process.stderr.write(`${name}: ${wrong?.message ?? `a store is away: ${reasonOf(error)}`}\n`);
    process.exitCode = wrong ? 78 : 69;
  }
}

/** What the store's driver said; those around it say what we tried. */
const reasonOf = (error: unknown) => (causesOf(error) as Error[]).findLast(({ message }) => message)?.message;
