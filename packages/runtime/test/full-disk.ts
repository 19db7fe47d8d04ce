/** Logs to a standard output that takes nothing, more than is kept; then lets standard output be the file that its argument names. */
import { closeSync, openSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { openLog } from '../src/log.ts';

const log = openLog('full disk', 'info');
for (let number = 1; number <= 400; number += 1) {
  log.info({ number, text: 'x'.repeat(100_000) }, 'no room');
  await turn();
}
closeSync(1);
openSync(process.argv[2]!, 'w'); // gets the lowest free descriptor
log.info({ text: 'x'.repeat(100_000) }, 'dropped, and makes the kept lines be written');
await turn();
log.info('there is room');
