/** `npm run ops`: what an operator asks and does, by the public APIs alone (docs/operations.md). */
import { ops } from '../../ops/main.ts';
import { runCommand } from './command.ts';

await runCommand(ops);
