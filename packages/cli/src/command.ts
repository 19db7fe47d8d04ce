/** What a command is: a row of the table from which help, completions, docs/cli.md and the parser are made. */
import type { Session } from './session/session.ts';
import type { Output } from './terminal.ts';

export type Argument = {
  name: string;
  summary: string;
  optional?: true;
  many?: true;
  /** `choices` are offered, and others taken. */
  free?: true;
  choices?: readonly string[];
};

export type Option = {
  name: string;
  summary: string;
  /** What stands for its value; without one it is a switch. */
  value?: string;
  choices?: readonly string[];
  /** It may be given several times. */
  many?: true;
};

export type Command = {
  /** As they are typed: `hooks list`. */
  words: readonly string[];
  summary: string;
  /** More than fits in a line, for `--help` and docs/cli.md. */
  about?: string;
  args?: readonly Argument[];
  options?: readonly Option[];
  /** Without the program's name. */
  example?: string;
  /** What it needs beyond a person's token. */
  needs?: 'site_admin' | 'the gate’s management API';
  /** Loaded when the command is run, so that no command waits for what another needs. */
  load(): Promise<Run>;
};

export type Run = (context: Context) => Promise<void>;

/** What a command gets. */
export type Context = {
  /** Of arguments, by their names in the table; one that is `many` is joined from `rest`. */
  args: Record<string, string>;
  rest: string[];
  flags: Flags;
  json: boolean;
  env: NodeJS.ProcessEnv;
  out: Output;
  /** Aborts on Ctrl-C. */
  signal: AbortSignal;
  /** Who is signed in. @throws Problem `notSignedIn`. */
  session(): Promise<Session>;
};

export type Flags = {
  text(name: string): string | undefined;
  is(name: string): boolean;
  /** Of one that may be given several times, each as it is. */
  all(name: string): string[];
  /** What stands between commas. */
  list(name: string): string[];
};
