/** A command's output: an aligned line per step with its seconds, and for a slow step, before it, a line that it has begun. */

/** Prints a line as it is. */
const line = (text = '') => void process.stdout.write(`${text}\n`);

export const say = {
  line,
  /** Prints a line about something, aligned with the steps. */
  about: (name: string, text: string) => line(`  · ${name.padEnd(16)} ${text}`),
  /** Runs `work` as a named step, and shows `detail` after the name when it ends. The result `false` marks it as failed. */
  async step<T>(name: string, detail: string | ((result: T) => string), work: () => Promise<T>): Promise<T> {
    const from = performance.now();
    const show = setTimeout(line, 2_000, `  … ${name}`);
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

export type Say = typeof say;
