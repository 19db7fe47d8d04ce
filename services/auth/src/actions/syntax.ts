/** Whether code can be an action: it is parsed here, never run. */
import { compileFunction } from 'node:vm';

/** The problem with the code; undefined if there is none. */
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
