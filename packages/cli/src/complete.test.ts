import { execFileSync, spawnSync } from 'node:child_process';
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
    COMP_LINE='gatepost hooks '; COMP_POINT=15; _gatepost 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(execFileSync('bash', ['-c', `${scripts.bash}\n${asked}`], { encoding: 'utf8' })).toBe('list\nshow\n');
});

// bash splits words at colons, so after an address everything had another place.
test('bash completes behind an address', () => {
  const line = 'gatepost --api https://a.example:4543 hooks p';
  const asked = `gatepost() { printf '%s\\n' "$*" >&2; }
    COMP_WORDS=(gatepost --api https : //a.example : 4543 hooks p); COMP_CWORD=8
    COMP_LINE='${line}'; COMP_POINT=${line.length}; _gatepost`;
  const script = `${scripts.bash.replace('2>/dev/null', '')}\n${asked}`;
  const { stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect(stderr).toBe('__complete --api https://a.example:4543 hooks p\n');
});
