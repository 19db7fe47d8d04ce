#!/usr/bin/env node
/** `npx gatepost` in a clone: the command line (docs/cli.md) from its source, on the Node that the project pins. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const node = join(root, 'node_modules/node/bin/node');
const main = join(root, 'packages/cli/src/main.ts');
const flags = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
const child = spawn(existsSync(node) ? node : process.execPath, [...flags, main, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
// A terminal signals Ctrl-C to both processes; the program itself decides how it ends.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
