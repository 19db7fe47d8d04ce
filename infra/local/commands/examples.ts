/** `npm run examples`: see examples/README.md. */
import { examples } from '../../examples/main.ts';
import { runCommand } from './command.ts';

await runCommand(examples);
