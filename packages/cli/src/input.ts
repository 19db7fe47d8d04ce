/** Input from files and standard input, above all secrets: arguments are visible to everybody on the machine. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Context } from './command.ts';
import { Problem, usage } from './problem.ts';

/** A file's text; `-` is standard input. */
export async function readInput(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Problem('usage', `${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** A secret on a line of its own, without the line break. */
export async function readSecret(file: string, what: string): Promise<string> {
  const isTyped = file === '-' && process.stdin.isTTY;
  const secret = isTyped ? await askHidden(what) : (await readInput(file)).replace(/\r?\n$/, '');
  if (secret === '') throw usage(`${what} is empty`);
  return secret;
}

/** A line typed at the terminal, which does not show it. Ctrl-C and Ctrl-D end the command. */
async function askHidden(what: string): Promise<string> {
  const { createInterface } = await import('node:readline');
  const { Writable } = await import('node:stream');
  const unseen = new Writable({ write: (_, __, done) => done() });
  const lines = createInterface({ input: process.stdin, output: unseen, terminal: true });
  process.stderr.write(`${what}, not shown here: `);
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve).once('close', () => reject(new Problem('interrupted', 'interrupted')));
      process.stdin.once('close', () => lines.close()); // a signal has ended the command
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}

/** Answers yes at once with `--yes`; otherwise asks the user. Ctrl-C and Ctrl-D are a no. */
export async function confirm({ flags, signal }: Pick<Context, 'flags' | 'signal'>, question: string): Promise<void> {
  if (flags.is('yes')) return;
  if (!process.stdin.isTTY) throw usage(`${question} There is nobody to ask`, '--yes answers beforehand.');
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''));
    signal.addEventListener('abort', () => lines.close());
    lines.question(`${question} [y/N] `, resolve);
  });
  lines.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Problem('interrupted', 'left as it was');
}
