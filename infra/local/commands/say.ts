/** What a command prints: one aligned line a step with its seconds, and before it, where it takes a while, that it has begun. */

export type Say = {
  /**
   * Runs `work` as a named step. `detail` is shown behind the name when it ends: a text, or made from the result. The result
   * `false` marks it as failed.
   */
  step<T>(name: string, detail: string | ((result: T) => string), work: () => Promise<T>): Promise<T>;
  /** Prints a line as it is. */
  line(text?: string): void;
  /** Prints a line about a named thing, aligned with the steps. */
  about(name: string, text: string): void;
};

const longMs = 2_000;

export function makeSay(): Say {
  const print = (text: string) => process.stdout.write(`${text}\n`);
  return {
    async step(name, detail, work) {
      const from = performance.now();
      const show = setTimeout(print, longMs, `  … ${name}`);
      try {
        const result = await work();
        const text = typeof detail === 'string' ? detail : detail(result);
        const mark = result === false ? '✗' : '✓';
        const seconds = `${((performance.now() - from) / 1000).toFixed(1)} s`;
        print(`  ${mark} ${name.padEnd(16)} ${text.padEnd(58)} ${seconds.padStart(8)}`);
        return result;
      } finally {
        clearTimeout(show);
      }
    },
    line: (text = '') => print(text),
    about: (name, text) => print(`  · ${name.padEnd(16)} ${text}`),
  };
}
