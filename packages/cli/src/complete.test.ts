import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { complete, scripts } from './complete.ts';
import { commands, globalOptions } from './table.ts';

const wordsOf = (line: string) => complete(line.split(' ')).map(({ word }) => word);

test('completion offers commands, options and their values', () => {
  expect(wordsOf('')).toEqual([...new Set(commands.map(({ words }) => words[0]))]);
  expect(wordsOf('hooks ')).toEqual(['list', 'show', 'create', 'edit', 'delete', 'ping']);
  expect(wordsOf('hooks cr')).toEqual(['create']);
  expect(wordsOf('--api https://a.example hooks p')).toEqual(['ping']);
  expect(wordsOf('--repo a/b hooks p')).toEqual(['ping']);
  expect(wordsOf('hooks list --')).toEqual([...globalOptions.map(({ name }) => `--${name}`), '--repo', '--org']);
  expect(wordsOf('hooks list --json --j')).toEqual([]);
  expect(wordsOf('hooks create u --content-type ')).toEqual(['json', 'form']);
  expect(wordsOf('completion ')).toEqual(['bash', 'zsh', 'fish']);
  expect(wordsOf('hooks create --repo a/b ')).toEqual([]);
});

test('bash asks the program for completions', () => {
  const asked = `gatepost() { printf '%s\\n' "$*" >&2; printf 'list\\tList hooks\\nshow\\tShow a hook\\n'; }
    COMP_WORDS=(gatepost hooks ''); COMP_CWORD=2; _gatepost 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(execFileSync('bash', ['-c', `${scripts.bash}\n${asked}`], { encoding: 'utf8' })).toBe('list\nshow\n');
});
