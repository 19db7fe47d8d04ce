/** Completion in zsh itself. Each system has bash, so bash's is tested next to the code. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { scripts } from '../src/complete.ts';

// The first time the shell only read the script: whoever pressed Tab once got nothing.
test('zsh asks the program from the first time on', () => {
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
