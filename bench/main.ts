/** `npm run bench -- NAME [--option value …]`: runs one benchmark, prints its table and writes bench/results/NAME.json. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';

/** What a benchmark gives back: rows to print, and everything measured, for the file. */
export type Result = { rows: [what: string, value: string][]; figures: Record<string, unknown> };
type Benchmark = (options: Record<string, string | undefined>) => Promise<Result>;

const benchmarks: Record<string, () => Promise<Benchmark>> = {
  actions: async () => (await import('./actions.ts')).actions,
  api: async () => (await import('./api.ts')).api,
  explain: async () => (await import('./explain.ts')).explain,
  console: async () => (await import('./console.ts')).console,
  client: async () => (await import('./client.ts')).client,
  delivery: async () => (await import('./delivery.ts')).delivery,
  simulation: async () => (await import('./simulation.ts')).simulation,
  throttle: async () => (await import('./throttle.ts')).throttle,
  fairness: async () => (await import('./fairness.ts')).fairness,
  hanging: async () => (await import('./hanging.ts')).hanging,
  large: async () => (await import('./large.ts')).large,
  latency: async () => (await import('./latency.ts')).latency,
  listen: async () => (await import('./listen.ts')).listen,
  backlog: async () => (await import('./backlog.ts')).backlog,
  gate: async () => (await import('./gate.ts')).gate,
  peers: async () => (await import('./peers/peers.ts')).peers,
  profile: async () => (await import('./profile.ts')).profile,
  'tokens-soak': async () => (await import('./tokens-soak.ts')).tokensSoak,
  replay: async () => (await import('./replay.ts')).replay,
  scale: async () => (await import('./scale.ts')).scale,
  tokens: async () => (await import('./tokens.ts')).tokens,
  watch: async () => (await import('./watch.ts')).watch,
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  strict: false,
  options: {
    seconds: { type: 'string' },
    rate: { type: 'string' },
    events: { type: 'string' },
    'fan-out': { type: 'string' },
    rows: { type: 'string' },
    beside: { type: 'string' },
    shards: { type: 'string' },
    only: { type: 'string' },
    profile: { type: 'string' },
    targets: { type: 'string' },
    rounds: { type: 'string' },
    force: { type: 'boolean' },
  },
});
const [name = ''] = positionals;
const load = benchmarks[name];
if (!load) {
  console.error(
    `usage: npm run bench -- ${Object.keys(benchmarks).join(' | ')} [--seconds N] [--rate N] [--events N] [--fan-out N] [--rows N] [--shards N] [--beside CHECKOUT] [--only ROW,…] [--targets FILE,…] [--rounds N] [--force]`,
  );
  process.exit(2);
}
const benchmark = await load();
const result = await benchmark(values as Record<string, string | undefined>);
const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;

console.log(`\n${name} (${machine})\n`);
const width = Math.max(...result.rows.map(([what]) => what.length));
for (const [what, value] of result.rows) console.log(`  ${what.padEnd(width)}  ${value}`);
const folder = new URL('./results/', import.meta.url);
mkdirSync(folder, { recursive: true });
const file = new URL(`${name}.json`, folder);
writeFileSync(file, `${JSON.stringify({ name, at: new Date().toISOString(), machine, ...result.figures }, null, 2)}\n`);
console.log(`\nwritten to bench/results/${name}.json`);
