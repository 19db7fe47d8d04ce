#!/usr/bin/env node
/** `gatepost`: one process a command. `run.ts` is the spine; `table.ts` says which commands there are. */
import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), process.env);
