/** Collects what an action prints, to show it in a trial; in a sign-in nobody reads it. Concurrent runs each get all output. */
import { format } from 'node:util';

const linesMax = 100;
const lineMax = 1_000;

/** Replaces `console`. `begin` starts listening, and returns a function that stops and returns the output. @param masked hides secrets */
export function collectOutput(masked: (text: string) => string): { begin(): () => string[] } {
  const listeners = new Set<string[]>();
  const say = (...given: unknown[]): void => {
    if (listeners.size === 0) return;
    const line = masked(format(...given)).slice(0, lineMax);
    for (const lines of listeners) if (lines.length < linesMax) lines.push(line);
  };
  const noop = () => {};
  const console = new Proxy(
    { log: say, info: say, warn: say, error: say, debug: say, trace: say, dir: say },
    { get: (target, name) => Reflect.get(target, name) ?? noop },
  );
  Object.defineProperty(globalThis, 'console', { value: console, configurable: true, writable: true });
  return {
    begin() {
      const lines: string[] = [];
      listeners.add(lines);
      return () => {
        listeners.delete(lines);
        return lines;
      };
    },
  };
}
