/** A command: a row of the table that help, completions, docs/cli.md and the parser are made from. */
import type { Flags } from './flags.ts';
import type { Session } from './session/session.ts';
import type { Output } from './terminal.ts';

export type Argument = {
  name: string;
  summary: string;
  optional?: true;
  many?: true;
  /** `choices` are suggestions; other values are accepted too. */
  free?: true;
  choices?: readonly string[];
};

export type Option = {
  name: string;
  summary: string;
  /** The placeholder for its value; without one it is a switch. */
  value?: string;
  choices?: readonly string[];
  /** It may be given several times. */
  many?: true;
};

export type Command = {
  /** As typed: `hooks list`. */
  words: readonly string[];
  summary: string;
  /** Longer text, for `--help` and docs/cli.md. */
  about?: string;
  args?: readonly Argument[];
  options?: readonly Option[];
  /** Without the program's name. */
  example?: string;
  /** Required beyond a person's token. */
  needs?: 'site_admin' | 'the gate’s management API';
  /** Loaded when the command runs, so that no command waits for what another needs. */
  load(): Promise<Run>;
};

export type Run = (context: Context) => Promise<void>;

/** What a command is given. */
export type Context = {
  /** Arguments by their names in the table; one that is `many` is joined from `rest`. */
  args: Record<string, string>;
  rest: string[];
  flags: Flags;
  json: boolean;
  env: NodeJS.ProcessEnv;
  out: Output;
  /** Aborts on Ctrl-C. */
  signal: AbortSignal;
  /** The current session. @throws Problem `notSignedIn`. */
  session(): Promise<Session>;
};
