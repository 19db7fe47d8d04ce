/** `npm run chaos`: see infra/chaos/README.md. */
import { chaos } from '../../chaos/main.ts';
import { runCommand } from './command.ts';

await runCommand(chaos);
