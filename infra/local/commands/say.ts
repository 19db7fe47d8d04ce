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

const nameWidth = 16;
const detailWidth = 58;
const noteEveryMs = 10_000;

/** On a terminal the running steps stand on one changing line; elsewhere they are noted after ten seconds without news. */
export function makeSay(out: NodeJS.WriteStream = process.stdout): Say {
  const running = new Set<Running>();
  let timer: NodeJS.Timeout | undefined;
  let shownAt = performance.now();

  const print = (text: string) => {
    out.write(`${out.isTTY ? '\r\x1b[K' : ''}${text}\n`);
    shownAt = performance.now();
    if (out.isTTY) showRunning();
  };
  const showRunning = () => {
    const now = performance.now();
    const text = [...running].map((step) => `${step.name}${step.doing} ${seconds(now - step.from)}`).join(' · ');
    if (text === '') return;
    if (out.isTTY) {
      out.write(`\r\x1b[K${`  … ${text}`.slice(0, out.columns || 80)}`);
    } else if (now - shownAt > noteEveryMs) {
      shownAt = now;
      out.write(`  … ${text}\n`);
    }
  };

  return {
    async step(name, detail, work) {
      const from = performance.now();
      const step: Running = { name, doing: '', from };
      running.add(step);
      timer ??= setInterval(showRunning, 250).unref();
      try {
        const result = await work((doing) => {
          step.doing = ` ${doing}`;
        });
        running.delete(step);
        print(
          aligned(
            result === false ? '✗' : '✓',
            name,
            typeof detail === 'string' ? detail : detail(result),
            performance.now() - from,
          ),
        );
        return result;
      } catch (error) {
        running.delete(step);
        if (out.isTTY) out.write('\r\x1b[K');
        throw error;
      } finally {
        if (running.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
      }
    },
    line: (text = '') => print(text),
    about: (name, text) => print(`  · ${name.padEnd(nameWidth)} ${text}`),
  };
}

function aligned(mark: string, name: string, detail: string, elapsedMs: number): string {
  return `  ${mark} ${name.padEnd(nameWidth)} ${detail.padEnd(detailWidth)} ${seconds(elapsedMs).padStart(8)}`;
}

function seconds(elapsedMs: number): string {
  return `${(elapsedMs / 1000).toFixed(1)} s`;
}
