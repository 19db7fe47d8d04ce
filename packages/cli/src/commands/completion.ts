/** Prints the script that sets up completion in a shell. */
import type { Run } from '../command.ts';
import { scripts } from '../complete.ts';

export const completion: Run = async ({ args }) => {
  process.stdout.write(scripts[args.SHELL as keyof typeof scripts]); // the table lists the same three
};
