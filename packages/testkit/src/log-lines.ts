/** A log for tests to read, which `openLog` writes to. */

export type LogLines = {
  lines: Record<string, unknown>[];
  write(line: string): void;
};

export function openLogLines(): LogLines {
  const lines: Record<string, unknown>[] = [];
  return { lines, write: (line) => void lines.push(JSON.parse(line)) };
}
