/** Completion candidates: shells ask the program itself (`gatepost __complete …`), so they know all that it knows. */
import type { Command, Option } from './command.ts';
import { findCommand } from './run.ts';
import { commands, globalOptions } from './table.ts';

export type Candidate = { word: string; summary: string };

/** `typed` holds the words after the program's name; the last one is being typed, and may be empty. */
export function complete(typed: string[]): Candidate[] {
  const current = typed.at(-1) ?? '';
  const before = typed.slice(0, -1);
  return candidates(before, current).filter(({ word }) => word.startsWith(current));
}

function candidates(before: string[], current: string): Candidate[] {
  const { command, words, rest } = findCommand(before);
  const options: Option[] = [...globalOptions, ...(command?.options ?? [])];
  const open = options.find(({ name, value }) => value && before.at(-1) === `--${name}`);
  if (open) return wordsOf(open.choices);
  if (current.startsWith('-'))
    return options
      .filter(({ name, many }) => many || !before.includes(`--${name}`))
      .map(({ name, summary }) => ({ word: `--${name}`, summary }));
  if (command) return wordsOf(argumentAt(command, rest, options)?.choices);
  return following(words);
}

/** The possible next words of commands that begin with these. */
function following(words: string[]): Candidate[] {
  const asked = words[0] === 'help' ? words.slice(1) : words;
  const found = new Map<string, string>();
  for (const each of commands) {
    const next = each.words[asked.length];
    if (next === undefined || !asked.every((word, index) => each.words[index] === word)) continue;
    const isWhole = each.words.length === asked.length + 1;
    found.set(next, isWhole ? each.summary : (found.get(next) ?? `${each.words[0]} …`));
  }
  return [...found].map(([word, summary]) => ({ word, summary }));
}

function argumentAt(command: Command, rest: string[], options: Option[]) {
  const takesValue = (word: string) => options.some(({ name, value }) => value && word === `--${name}`);
  const given = rest.filter((word, index) => !word.startsWith('-') && !takesValue(rest[index - 1] ?? ''));
  return command.args?.[given.length];
}

const wordsOf = (choices: readonly string[] = []): Candidate[] => choices.map((word) => ({ word, summary: '' }));

/** Set up once in a shell, they ask the program. Where it has no answer, files are offered. */
export const scripts = {
  bash: `# gatepost completion bash >> ~/.bashrc
_gatepost() {
  local line words typed="\${COMP_LINE:0:COMP_POINT}"
  read -ra words <<< "$typed" # COMP_WORDS has the parts of a URL as words
  [[ $typed == *[[:space:]] ]] && words+=('')
  COMPREPLY=()
  while IFS=$'\\t' read -r line _; do COMPREPLY+=("$line"); done < <(gatepost __complete "\${words[@]:1}" 2>/dev/null)
}
complete -o bashdefault -o default -F _gatepost gatepost
`,
  zsh: `#compdef gatepost
# gatepost completion zsh > "\${fpath[1]}/_gatepost"
_gatepost() {
  local line word; local -a found
  while IFS= read -r line; do
    word="\${line%%$'\\t'*}"
    found+=("\${word//:/\\\\:}:\${line#*$'\\t'}")
  done < <(gatepost __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe -t commands gatepost found; else _files; fi
}
# From fpath it is read when it is first needed, and must answer then.
if [[ \${funcstack[1]} == _gatepost ]]; then _gatepost "$@"; else compdef _gatepost gatepost; fi
`,
  fish: `# gatepost completion fish > ~/.config/fish/completions/gatepost.fish
function __gatepost_complete
  set --local words (commandline --tokenize --cut-at-cursor) (commandline --current-token --cut-at-cursor)
  gatepost __complete $words[2..-1] 2>/dev/null
end
complete --command gatepost --arguments '(__gatepost_complete)'
`,
} as const;
