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

type Running = { name: string; doing: string; from: number };

const noteEveryMs = 10_000;

/** On a terminal the running steps stand on one changing line; elsewhere they are noted after ten seconds without news. */
export function makeSay(out: NodeJS.WriteStream = process.stdout): Say {
  const running = new Set<Running>();
  let shownAt = performance.now();

  const print = (text: string) => {
    out.write(`${out.isTTY ? '\r\x1b[K' : ''}${text}\n`);
    shownAt = performance.now();
  };
  const showRunning = () => {
    if (running.size === 0) return;
    const text = `  … ${[...running].map(({ name, doing, from }) => `${name}${doing} ${secondsSince(from)}`).join(' · ')}`;
    if (out.isTTY) out.write(`\r\x1b[K${text.slice(0, out.columns || 80)}`);
    else if (performance.now() - shownAt > noteEveryMs) print(text);
  };
  setInterval(showRunning, 250).unref();

  return {
    async step(name, detail, work) {
      const step: Running = { name, doing: '', from: performance.now() };
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
        if (out.isTTY) out.write('\r\x1b[K');
      }
    },
    line: (text = '') => print(text),
    about: (name, text) => print(`  · ${name.padEnd(16)} ${text}`),
  };
}

function secondsSince(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}
