/** A command's output: an aligned line per step with its seconds, and for a slow step, before it, a line that it has begun. */

export type Say = {
  /** Runs `work` as a named step, and shows `detail` after the name when it ends. The result `false` marks it as failed. */
  step<T>(name: string, detail: string | ((result: T) => string), work: () => Promise<T>): Promise<T>;
  /** Prints a line as it is. */
  line(text?: string): void;
  /** Prints a line about something, aligned with the steps. */
  about(name: string, text: string): void;
};

const longMs = 2_000;

export function makeSay(): Say {
  const line = (text = '') => process.stdout.write(`${text}\n`);
  return {
    line,
    about: (name, text) => line(`  · ${name.padEnd(16)} ${text}`),
    async step(name, detail, work) {
      const from = performance.now();
      const show = setTimeout(line, longMs, `  … ${name}`);
      try {
        const result = await work();
        const text = typeof detail === 'string' ? detail : detail(result);
        const seconds = `${((performance.now() - from) / 1000).toFixed(1)} s`;
        line(`  ${result === false ? '✗' : '✓'} ${name.padEnd(16)} ${text.padEnd(58)} ${seconds.padStart(8)}`);
        return result;
      } finally {
        clearTimeout(show);
      }
    },
  };
}
