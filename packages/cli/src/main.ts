#!/usr/bin/env node
/** `gatepost`: one process per command. `run.ts` is the spine; `table.ts` lists the commands. */
import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), process.env);
