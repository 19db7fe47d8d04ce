/** The benchmarks by name, and their options. Loads none of them, so that the arguments can be checked before any store starts. */
import { parseArgs } from 'node:util';
import type { Benchmark } from './main.ts';

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

const usage = `usage: npm run bench -- ${Object.keys(benchmarks).join(' | ')} [--seconds N] [--rate N] [--events N] [--fan-out N] [--rows N] [--shards N] [--beside CHECKOUT] [--only ROW,…] [--targets FILE,…] [--rounds N] [--starts N] [--force]`;

type Asked = { name: string; load: () => Promise<Benchmark>; options: Record<string, string | undefined> };

/** The requested benchmark, or the usage if there is no such one. */
export function readArgs(args: string[]): Asked | { usage: string } {
  const { positionals, values } = parseArgs({
    args,
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
      starts: { type: 'string' },
      force: { type: 'boolean' },
    },
  });
  const [name = ''] = positionals;
  const load = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
  return load ? { name, load, options: values as Asked['options'] } : { usage };
}
