/** The commands that the documents tell readers to type: blocks marked as `sh`. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { rootFolder } from '../local/processes/home.ts';

export type Block = {
  /** Relative to the repository's root. */
  file: string;
  /** The line of its first command. */
  line: number;
  text: string;
  /** Why nothing runs it, according to the comment above it: `<!-- not run: … -->`. */
  notRun: string | undefined;
};

export function readBlocks(file: string): Block[] {
  return parseBlocks(file, readFileSync(path.join(rootFolder, file), 'utf8'));
}

export function parseBlocks(file: string, markdown: string): Block[] {
  const form = /^(?:<!-- not run: (?<notRun>.+) -->\n+)?```sh\n(?<text>[\s\S]*?)^```$/gm;
  return [...markdown.matchAll(form)].map((match) => {
    const { notRun, text = '' } = match.groups!;
    const before = markdown.slice(0, match.index + match[0].indexOf('```sh'));
    return { file, line: before.split('\n').length + 1, text, notRun };
  });
}
