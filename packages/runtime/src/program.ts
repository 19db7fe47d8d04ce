/** Tells a program from a module that is imported. */
import { existsSync, realpathSync } from 'node:fs';

/** Whether Node was started with this file (`import.meta.filename`). Node 20 lacks `import.meta.main`: a program would do nothing and exit with 0. */
export function isProgram(file: string): boolean {
  const started = process.argv[1];
  // Node also finds `dist/migrations.js` as `dist/migrations`.
  return [started, `${started}.js`].some((path) => path && existsSync(path) && realpathSync(path) === file);
}
