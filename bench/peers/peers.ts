/**
 * `npm run bench -- peers --targets FILE,…`: compares Gatepost with anything else that delivers webhooks or issues tokens, each described by a
 * file (target.ts). `ours` and `bare` are built-in targets (own-targets.ts): Gatepost, and what is left without it. Every target is asked by
 * the same driver, delivers to the same receiver (separate processes), is warmed up, and has its turn in each round, in alternating order.
 * Each figure is reported as its range over the rounds, never as the best.
 */
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import type { Result } from '../main.ts';
import { quantile } from '../quantile.ts';
import { forkReceiver, type ReceiverProcess } from '../receiver-process.ts';
import { runLoad } from '../run-load.ts';
import type { Asked, Asking } from './asker.ts';
import { cpuOf, memory, perThousand } from './cost.ts';
import { type OwnTarget, openOwnTarget, ownNames } from './own-targets.ts';
import type { Published, Publishing } from './publisher.ts';
import type { Received } from './receiver.ts';
import { readTarget, setUp, type Target, type Values } from './target.ts';

const busyMax = 0.25;
const drainMs = 60_000;
const stuckMs = 10_000;
const connections = 32;

type Ready = { target: Target; values: Values };
/** The measurements of one round of a row, by name. */
type Round = Record<string, number>;
type Row = { name: string; has(target: Target): boolean; run(ready: Ready, seconds: number): Promise<Round> };

export async function peers(options: Record<string, string | boolean | undefined>): Promise<Result> {
  const names = String(options.targets ?? 'ours,bare').split(',');
  const seconds = Number(options.seconds ?? 5);
  const rounds = Number(options.rounds ?? 3);
  const only = String(options.only ?? '').split(',');
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startReceiver());
  const targets: Ready[] = [];
  for (const name of names) {
    const own: OwnTarget | undefined = ownNames.includes(name)
      ? stack.use(await openOwnTarget(name, receiver.url))
      : undefined;
    const target = own?.target ?? readTarget(name);
    targets.push({ target, values: await setUp(target, { receiver: receiver.url }) });
  }
  const noise = await refuseNoise(Boolean(options.force), targets);

  const rows = rowsOf(receiver, Number(options.events ?? 5_000), Number(options.rate ?? 200)).filter(({ name }) =>
    only.some((part) => name.includes(part)),
  );
  const told: Result['rows'] = [
    ['machine before', noise],
    ['rounds, seconds each, connections', `${rounds}, ${seconds}, ${connections}`],
  ];
  const figures: Record<string, Record<string, Round[]>> = {};
  for (const row of rows) {
    const measured = new Map<Ready, Round[]>();
    const refusals = new Map<Ready, string>();
    const turn = async (ready: Ready, wanted: number): Promise<Round[]> => {
      try {
        return [{ ...(await row.run(ready, wanted)), load: loadavg()[0]! }];
      } catch (error) {
        refusals.set(ready, (error as Error).message);
        return [];
      }
    };
    for (const ready of targets.filter(({ target }) => row.has(target))) {
      measured.set(ready, []);
      await turn(ready, 1); // warm up
    }
    for (let round = 0; round < rounds; round += 1) {
      const order = [...measured].filter(([ready]) => !refusals.has(ready));
      for (const [ready, each] of round % 2 === 0 ? order : order.toReversed())
        each.push(...(await turn(ready, seconds)));
    }
    if (measured.size > 0) told.push([row.name, '']);
    for (const [ready, each] of measured) {
      const said = refusals.has(ready) ? `not measured: ${refusals.get(ready)}` : rangesOf(each);
      told.push([`  ${ready.target.name}`, said]);
      console.error(`${row.name} · ${ready.target.name}: ${said}`);
    }
    figures[row.name] = Object.fromEntries([...measured].map(([{ target }, each]) => [target.name, each]));
  }
  told.push(['machine after: load', loadavg()[0]!.toFixed(2)]);
  return { rows: told, figures };
}

/** How busy the machine is while nothing is asked of it. @throws above the threshold, unless forced; the output then says so */
async function refuseNoise(forced: boolean, targets: Ready[]): Promise<string> {
  const own = () =>
    targets
      .flatMap(({ target: { post, gate } }) => [post, gate])
      .flatMap((side) => (side ? Object.values(cpuOf(side.parts)) : []))
      .reduce((sum, value) => sum + value, 0);
  const [before, ownBefore] = [busySeconds(), own()];
  await sleep(3_000);
  // A target's own activity at rest does not count.
  const busy = (busySeconds() - before - (own() - ownBefore)) / 3;
  const said = `${busy.toFixed(2)} of ${cpus().length} cores busy with other things, load ${loadavg()[0]!.toFixed(2)}`;
  if (busy <= busyMax) return said;
  if (!forced) throw new Error(`${said}: above ${busyMax} nothing is measured (--force: all the same, and it is said)`);
  return `${said}: ABOVE ${busyMax}, MEASURED BY --force`;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** CPU seconds of all cores since the machine started, without idling and waiting for disks. */
function busySeconds(): number {
  const [user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user! + nice! + system! + irq! + softirq!) / 100;
}

function rowsOf(receiver: ReceiverProcess, events: number, rate: number): Row[] {
  const post = (name: string, plan: (seconds: number) => { total: number; rate?: number }): Row => ({
    name,
    has: ({ post }) => post !== undefined,
    run: (ready, seconds) => deliver(ready, receiver, plan(seconds)),
  });
  type Gate = NonNullable<Target['gate']>;
  const gate = (name: string, of: (gate: Gate) => Asking['row'] | undefined): Row => ({
    name,
    has: ({ gate }) => gate !== undefined && of(gate) !== undefined,
    run: (ready, seconds) => askFor(ready, of(ready.target.gate!)!, seconds),
  });
  const one = (ask: Gate['userinfo']) => ask && { ask };
  return [
    post(`publish → received at ${rate}/s`, (seconds) => ({ total: rate * seconds, rate })),
    // The warm-up, which lasts one second, has a fifth of the events.
    post(`flood of ${events}`, (seconds) => ({ total: seconds === 1 ? Math.ceil(events / 5) : events })),
    gate('client_credentials', ({ clientCredentials }) => one(clientCredentials)),
    gate('code flow', ({ code }) => code && 'code'),
    gate('refresh', ({ code }) => (code?.refresh ? 'refresh' : undefined)),
    gate('userinfo', ({ userinfo }) => one(userinfo)),
    gate('introspection', ({ introspection }) => one(introspection)),
  ];
}

async function deliver(
  { target, values }: Ready,
  receiver: ReceiverProcess,
  plan: { total: number; rate?: number },
): Promise<Round> {
  await receiver.ask('reset');
  const { parts } = target.post!;
  const before = cpuOf(parts);
  const wanted: Publishing = { post: target.post!, values, connections, ...plan };
  const published = await runLoad<Publishing, Published>('./peers/publisher.ts', wanted);
  if (published.taken === 0) throw new Error(`nothing was taken: ${published.refusal}`);
  let count = await receiver.ask<number>('count');
  for (
    let [movedAt, end] = [Date.now(), Date.now() + drainMs];
    count < published.taken && Date.now() < Math.min(end, movedAt + stuckMs);
  ) {
    await sleep(50);
    const next = await receiver.ask<number>('count');
    if (next > count) movedAt = Date.now();
    count = next;
  }
  await sleep(500); // until copies and writes of the outcome are done
  const { received, doubled, lastAt, latencies } = await receiver.ask<Received>('report');
  return {
    'a second': received / ((lastAt - published.startedAt) / 1_000),
    'p50 ms': quantile(latencies, 0.5),
    'p99 ms': quantile(latencies, 0.99),
    lost: published.taken - received,
    doubled,
    refused: published.refused,
    ...perThousand(before, cpuOf(parts), received),
    ...memory(parts),
    'CPU driver': (published.cpuSeconds / received) * 1_000,
  };
}

async function askFor({ target, values }: Ready, row: Asking['row'], seconds: number): Promise<Round> {
  const { parts, code, clientCredentials } = target.gate!;
  const wanted: Asking = {
    values,
    parts,
    row,
    connections,
    seconds,
    ...(code && { code }),
    ...(clientCredentials && { clientCredentials }),
  };
  const asked = await runLoad<Asking, Asked>('./peers/asker.ts', wanted);
  const { done, failed, failure, latencies } = asked;
  if (done === 0) throw new Error(`nothing was answered as it should be: ${failure}`);
  return {
    'a second': done / asked.seconds,
    'p50 ms': quantile(latencies, 0.5),
    'p99 ms': quantile(latencies, 0.99),
    failed,
    ...perThousand(asked.before, asked.after, done),
    ...memory(parts),
    'CPU driver': (asked.cpuSeconds / done) * 1_000,
  };
}

/** `a second 1,059 to 1,249; p50 ms 4.1 to 4.4; …` */
function rangesOf(rounds: Round[]): string {
  return Object.keys(rounds[0]!)
    .map((name) => {
      const values = rounds.map((round) => round[name]!);
      const [least, most] = [shown(Math.min(...values)), shown(Math.max(...values))];
      return `${name} ${least === most ? least : `${least} to ${most}`}`;
    })
    .join('; ');
}

const shown = (value: number) =>
  value.toLocaleString('en', { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 3 });

const startReceiver = () => forkReceiver(new URL('./receiver.ts', import.meta.url));
