import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
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

const hasZsh = spawnSync('zsh', ['--version']).status === 0;

// The first time the shell only read the script: whoever pressed Tab once got nothing.
(hasZsh ? test : test.skip)('zsh asks the program from the first time on', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'cli-'));
  writeFileSync(path.join(folder, '_gatepost'), scripts.zsh);
  const asked = `fpath=(${folder}); compdef() {}; _describe() { print -rl -- "\${found[@]}" }
    gatepost() { print -r -- "$*" >&2; print -l $'list\tList hooks' $'show\tShow a hook' }
    autoload -Uz _gatepost; words=(gatepost hooks ''); CURRENT=3; _gatepost; _gatepost`;
  const twice = 'list:List hooks\nshow:Show a hook\n'.repeat(2);
  expect(execFileSync('zsh', ['-f', '-c', asked], { encoding: 'utf8' })).toBe(twice);
  const sourced = `compdef() { print -r -- "$*" }\n${scripts.zsh}`;
  expect(execFileSync('zsh', ['-f', '-c', sourced], { encoding: 'utf8' })).toBe('_gatepost gatepost\n');
});
