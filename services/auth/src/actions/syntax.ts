/** Whether code can be an action: it is parsed here, and never run. */
import { compileFunction } from 'node:vm';

/** What is wrong with it; undefined if nothing is. */
export function syntaxProblem(code: string): string | undefined {
  try {
    compileFunction(code, ['exports', 'require', 'module', '__filename', '__dirname'], { filename: 'action.js' });
    return undefined;
  } catch (error) {
    const { name, message, stack = '' } = error as Error;
    const [, line] = /^action\.js:(\d+)/.exec(stack) ?? [];
    return `${name}: ${message}${line === undefined ? '' : ` (line ${line})`}`;
  }
}
