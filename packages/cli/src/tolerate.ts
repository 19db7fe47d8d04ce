/** What goes on for long outlasts a restart of the API, and a limit of requests. */
import { Problem } from './problem.ts';
import { clean, type Output } from './terminal.ts';

/** For `catch`: says so, and that it is tried again. @returns how long the API asks to wait @throws what is no reason to try again */
export const tolerateUnreachable =
  (out: Output) =>
  (error: unknown): number => {
    if (!(error instanceof Problem) || error.exit !== 'unreachable') throw error;
    out.note(`${clean(error.message)}; trying again${error.later ? ` ${error.later.when}` : ''}`);
    return error.later?.waitMs ?? 0;
  };
