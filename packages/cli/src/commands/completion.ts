/** The script that a shell is told once. */
import type { Run } from '../command.ts';
import { scripts } from '../complete.ts';

export const completion: Run = async ({ args }) => {
  process.stdout.write(scripts[args.SHELL as keyof typeof scripts]); // the table lists the same three
};
