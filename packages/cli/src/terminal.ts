/**
 * Output to the terminal. Much of it comes from others: a payload, a header, a receiver's message. So every character that controls a
 * terminal or changes the direction of text is written as an escape (`\u001b`), in tables, in messages and in JSON.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;

/** Text without anything that controls a terminal; it stays on its line. */
export function clean(text: string): string {
  return text.replace(unsafe, escapeCharacter);
}

/** The same for text of several lines. */
export function cleanLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.split('\t').map(clean).join('\t'))
    .join('\n');
}

/** JSON that is equally harmless to a terminal, and parses to the same value. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(unsafe, (character) =>
    character === '\n' ? character : escapeCharacter(character),
  );
}

function escapeCharacter(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const code = character.charCodeAt(index);
    return `\\u${code.toString(16).padStart(4, '0')}`;
  }).join('');
}

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
const codes: Record<Style, number> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

/** A single place for output; in colour only on a terminal that wants it (https://no-color.org). */
export type Output = {
  /** A result: standard output. */
  line(text?: string): void;
  /** One value: indented with `--json` on a terminal, otherwise on one line. */
  json(value: unknown): void;
  table(head: string[], rows: string[][]): void;
  /** Information besides the result: standard error. */
  note(text: string): void;
  /** A progress bar on standard error, if that is a terminal; `end` removes it. */
  progress(what: string, total: number): Progress;
  paint(style: Style, text: string): string;
};

export type Progress = { at(done: number): void; end(): void };

type Stream = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number };

export function openOutput(env: NodeJS.ProcessEnv, out: Stream, err: Stream): Output {
  const colours = (stream: Stream) => Boolean(stream.isTTY) && !env.NO_COLOR && env.TERM !== 'dumb';
  const paint = (style: Style, text: string) => (colours(out) ? `\u001b[${codes[style]}m${text}\u001b[0m` : text);
  const line = (text = '') => void out.write(`${text}\n`);
  return {
    line,
    paint,
    note: (text) => void err.write(`${text}\n`),
    json: (value) => line(toJson(value, out.isTTY ? 2 : undefined)),
    table(head, rows) {
      const cells = rows.map((row) => row.map(clean));
      const widths = head.map((name, column) => Math.max(name.length, ...cells.map((row) => row[column]!.length)));
      const write = (row: string[], style?: Style) => {
        const text = row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd();
        line(style ? paint(style, text) : text);
      };
      write(head, 'bold');
      for (const row of cells) write(row);
    },
    progress(what, total) {
      if (!err.isTTY) return { at() {}, end() {} };
      const width = 30;
      return {
        at(done) {
          const full = total === 0 ? width : Math.min(width, Math.round((done / total) * width));
          err.write(`\r${what} [${'#'.repeat(full)}${'.'.repeat(width - full)}] ${done}/${total}\u001b[K`);
        },
        end: () => void err.write('\r\u001b[K'),
      };
    },
  };
}
