/** What a command prints: one aligned line a step with its seconds, and while steps run, which ones and for how long. */

export type Say = {
  /** Runs `work` as a named step. `detail` is shown behind the name when it ends: a text, or
   * made from the result. The result `false` marks it as failed. */
  step<T>(
    name: string,
    detail: string | ((result: T) => string),
    work: (note: (doing: string) => void) => Promise<T>,
  ): Promise<T>;
  /** Prints a line as it is. */
  line(text?: string): void;
  /** Prints a line about a named thing, aligned with the steps. */
  about(name: string, text: string): void;
};

/** On a terminal the running steps stand on one changing line; elsewhere they are noted after ten seconds without news. */
export function makeSay(out: NodeJS.WriteStream = process.stdout): Say {
  const running = new Set<{ name: string; doing: string; from: number }>();
  const clear = out.isTTY ? '\r\x1b[K' : '';
  let shownAt = performance.now();
  const print = (text: string) => {
    out.write(`${clear}${text}\n`);
    shownAt = performance.now();
  };
  const showRunning = () => {
    const text = `  … ${[...running].map(({ name, doing, from }) => `${name}${doing} ${secondsSince(from)}`).join(' · ')}`;
    if (running.size > 0 && out.isTTY) out.write(`${clear}${text.slice(0, out.columns || 80)}`);
    else if (running.size > 0 && performance.now() - shownAt > 10_000) print(text);
  };
  setInterval(showRunning, 250).unref();
  return {
    async step(name, detail, work) {
      const step = { name, doing: '', from: performance.now() };
      running.add(step);
      try {
        const result = await work((doing) => {
          step.doing = ` ${doing}`;
        });
        const text = typeof detail === 'string' ? detail : detail(result);
        const mark = result === false ? '✗' : '✓';
        print(`  ${mark} ${name.padEnd(16)} ${text.padEnd(58)} ${secondsSince(step.from).padStart(8)}`);
        return result;
      } finally {
        running.delete(step);
        out.write(clear);
      }
    },
    line: (text = '') => print(text),
    about: (name, text) => print(`  · ${name.padEnd(16)} ${text}`),
  };
}

function secondsSince(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}
