/** Takes one command from its arguments to its exit code: the spine. */
import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import type { Command, Context } from './command.ts';
import { readFlags } from './flags.ts';
import { exits, Problem, usage } from './problem.ts';
import { commands, globalOptions } from './table.ts';
import { clean, openOutput } from './terminal.ts';

export async function run(argv: string[], variables: NodeJS.ProcessEnv): Promise<number> {
  // Pipelines set what they have no value for to nothing.
  const env = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const abort = new AbortController();
  const out = openOutput(env, process.stdout, process.stderr);
  let code: number = exits.interrupted;
  const interrupt = (by: NodeJS.Signals) => {
    if (abort.signal.aborted) process.exit(code);
    code = 128 + constants.signals[by];
    abort.abort(new Problem('interrupted', 'interrupted'));
    process.stdin.destroy(); // whoever waits for its end
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // Nobody reads any further (`gatepost hooks list | head`).
    if (code === 'EPIPE') process.exit(exits.ok);
    // On a full disk, for one: a script must not take what was cut off for the whole.
    out.note(`gatepost: the output could not be written: ${clean(message)}`);
    process.exit(exits.failed);
  });
  process.stderr.on('error', () => {}); // nobody reads notes: the exit code still says what happened
  try {
    if (argv[0] === '__complete') return await answerShell(argv.slice(1));
    const { command, rest } = findCommand(argv);
    if (!command || rest.includes('--help') || rest.includes('-h')) return await help(command, argv, rest);
    const context = contextOf(command, rest, { env, out, signal: abort.signal });
    await (await command.load())(context);
    return exits.ok;
  } catch (error) {
    const ended = abort.signal.aborted ? (abort.signal.reason as unknown) : ofSystem(error);
    if (!(ended instanceof Problem)) throw ended;
    if (ended.exit !== 'interrupted') {
      const { paint } = openOutput(env, process.stderr, process.stderr);
      out.note(`${paint('red', 'gatepost:')} ${clean(ended.message)}`);
      for (const line of ended.next) out.note(`  ${clean(line)}`);
    }
    return ended.exit === 'interrupted' ? code : exits[ended.exit];
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** A file that cannot be written, or a full disk, is no fault of the program. */
const ofSystem = (error: unknown): unknown =>
  error instanceof Error && 'syscall' in error ? new Problem('failed', error.message) : error;

/** Of all commands, as the command may follow: an option takes a value in each that has it, or in none. */
const withValue = new Set(
  [...globalOptions, ...commands.flatMap(({ options = [] }) => options)].flatMap(({ name, value }) =>
    value ? [`--${name}`] : [],
  ),
);

/** The longest row of the table that matches the first words; options may appear anywhere. */
export function findCommand(argv: string[]): { command: Command | undefined; words: string[]; rest: string[] } {
  const words: string[] = [];
  const places: number[] = [];
  for (let index = 0; index < argv.length && words.length < 3; index += 1) {
    const word = argv[index]!;
    if (word === '--') break;
    if (!word.startsWith('-')) {
      words.push(word);
      places.push(index);
    } else if (withValue.has(word)) index += 1;
  }
  for (let count = words.length; count > 0; count -= 1) {
    const typed = words.slice(0, count).join(' ');
    const command = commands.find((each) => each.words.join(' ') === typed);
    if (command) return { command, words, rest: argv.filter((_, index) => !places.slice(0, count).includes(index)) };
  }
  return { command: undefined, words, rest: argv };
}

function contextOf(command: Command, rest: string[], base: Pick<Context, 'env' | 'out' | 'signal'>): Context {
  const known = [...globalOptions, ...(command.options ?? [])];
  const options = Object.fromEntries(
    known.map(({ name, value, many }) => [
      name,
      { type: value ? 'string' : 'boolean', multiple: Boolean(many) } as const,
    ]),
  );
  const hint = `\`gatepost ${command.words.join(' ')} --help\` shows what it takes.`;
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: rest, options, allowPositionals: true });
  } catch (error) {
    throw usage((error as Error).message.split(/\. |\n/)[0]!, hint);
  }
  const { values, positionals } = parsed;
  for (const { name, choices } of known) {
    const given = values[name];
    const wrong = choices && [given ?? []].flat().find((one) => !choices.includes(String(one)));
    if (wrong !== undefined) throw usage(`--${name} is one of ${choices!.join(', ')}`, hint);
  }
  const args = readArguments(command, positionals, hint);
  const flags = readFlags(values);
  return {
    ...base,
    args,
    rest: positionals.slice((command.args?.length ?? 0) - 1),
    flags,
    json: flags.is('json'),
    async session() {
      const { openSession } = await import('./session/session.ts');
      return openSession(flags, base.env, base.signal);
    },
  };
}

function readArguments(command: Command, given: string[], hint: string): Record<string, string> {
  const expected = command.args ?? [];
  const missing = expected.find((argument, index) => !argument.optional && given[index] === undefined);
  if (missing) throw usage(`${missing.name} is missing`, hint);
  if (given.length > expected.length && !expected.at(-1)?.many)
    throw usage(`\`${command.words.join(' ')}\` does not take ${given.slice(expected.length).join(' ')}`, hint);
  for (const [index, { name, choices, free }] of expected.entries()) {
    const value = given[index];
    if (value !== undefined && choices && !free && !choices.includes(value))
      throw usage(`${name} is one of ${choices.join(', ')}`, hint);
  }
  return Object.fromEntries(
    expected.flatMap(({ name }, index) => (given[index] === undefined ? [] : [[name, given[index]]])),
  );
}

async function help(command: Command | undefined, argv: string[], rest: string[]): Promise<number> {
  const { helpOf, overview } = await import('./help.ts');
  if (command) {
    process.stdout.write(helpOf(command));
    return exits.ok;
  }
  const { words } = findCommand(argv);
  if (rest.includes('--version')) {
    const { version } = await import('./version.ts');
    process.stdout.write(`gatepost ${version}\n`);
    return exits.ok;
  }
  const asked = words[0] === 'help' ? words.slice(1) : words;
  const within = commands.filter((each) => asked.every((word, index) => each.words[index] === word));
  if (asked.length > 0 && within.length === 0)
    throw usage(`there is no command \`${asked.join(' ')}\``, `\`gatepost ${nearest(asked)}--help\` lists them.`);
  const wanted = words[0] === 'help' || rest.includes('--help') || rest.includes('-h');
  (wanted ? process.stdout : process.stderr).write(within.length === 1 ? helpOf(within[0]!) : overview(within, asked));
  return wanted ? exits.ok : exits.usage;
}

/** `hooks ` for `hooks lst`: the group that exists. */
const nearest = ([group]: string[]) =>
  commands.some(({ words }) => words[0] === group && words[1]) ? `${group} ` : '';

async function answerShell(words: string[]): Promise<number> {
  const { complete } = await import('./complete.ts');
  for (const { word, summary } of complete(words)) process.stdout.write(`${word}\t${summary}\n`);
  return exits.ok;
}
