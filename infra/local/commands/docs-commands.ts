/** `npm run docs:commands`: see infra/docs/commands.ts. */
import { commands } from '../../docs/commands.ts';
import { runCommand } from './command.ts';

await runCommand(commands);
