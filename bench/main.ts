/** `npm run bench -- NAME [--option value …]`: runs one benchmark, prints its table and writes bench/results/NAME.json. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { readArgs } from './benchmarks.ts';

/** A benchmark's result: rows to print, and all measurements, for the file. */
export type Result = { rows: [what: string, value: string][]; figures: Record<string, unknown> };
export type Benchmark = (options: Record<string, string | undefined>) => Promise<Result>;

const asked = readArgs(process.argv.slice(2));
if ('usage' in asked) {
  console.error(asked.usage);
  process.exit(2);
}
const { name, load, options } = asked;
const benchmark = await load();
const result = await benchmark(options);
const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;

console.log(`\n${name} (${machine})\n`);
const width = Math.max(...result.rows.map(([what]) => what.length));
for (const [what, value] of result.rows) console.log(`  ${what.padEnd(width)}  ${value}`);
const folder = new URL('./results/', import.meta.url);
mkdirSync(folder, { recursive: true });
const file = new URL(`${name}.json`, folder);
writeFileSync(file, `${JSON.stringify({ name, at: new Date().toISOString(), machine, ...result.figures }, null, 2)}\n`);
console.log(`\nwritten to bench/results/${name}.json`);
