/** An error that ends a command: a message, what to do next, and the exit code for scripts. */
export const exits = {
  ok: 0,
  failed: 1,
  usage: 2,
  notSignedIn: 3,
  notFound: 4,
  refused: 5,
  unreachable: 6,
  interrupted: 130,
} as const;

export type Exit = keyof typeof exits;

/** As listed by `gatepost --help` and in docs/cli.md. */
export const exitMeanings: Record<Exit, string> = {
  ok: 'done',
  failed: 'it was tried and failed',
  usage: 'the command line, or a file that it names, was not understood; nothing was changed, and no event sent',
  notSignedIn: 'nobody is signed in, or the token is no longer valid: `gatepost login`',
  notFound: 'it does not exist, or this token may not see or do it',
  refused: 'the API understood and refused: a limit, a wrong value',
  unreachable:
    'the API or the gate does not answer, or asks to come back later, as when all requests of an hour are used up',
  interrupted: 'ended by Ctrl-C, or the answer was no; 143: ended by SIGTERM',
};

export type Later = { when: string; waitMs: number };

export class Problem extends Error {
  readonly exit: Exit;
  /** What to do about it, one sentence per line. */
  readonly next: string[];
  /** Of the API's refusal, if it is one. */
  status?: number;
  /** When the API asks to come back. */
  later?: Later;
  constructor(exit: Exit, message: string, ...next: string[]) {
    super(message);
    this.exit = exit;
    this.next = next;
  }
}

export const usage = (message: string, ...next: string[]) => new Problem('usage', message, ...next);
