/**
 * What a POST costs with got as it is, with got as used for deliveries, and with node:http, in turn. It needs no stores:
 * `node --conditions=source bench/main.ts client` runs it as well.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Bare, Client } from './bare.ts';
import type { Result } from './main.ts';
import { startReceiver } from './receiver-process.ts';

const names: Record<Client, string> = {
  got: 'got as it comes',
  request: 'got with our request function',
  http: 'node:http',
};
const rounds = 5;

export async function client(options: Record<string, string | undefined>): Promise<Result> {
  const count = Number(options.events ?? 10_000);
  using receiver = await startReceiver();
  const runs: Record<Client, Bare[]> = { got: [], request: [], http: [] };
  for (let round = 0; round < rounds; round += 1)
    for (const [which, own] of Object.entries(runs)) own.push(await bare(which as Client, receiver.url, count));
  const perThousand = (run: Bare) => (run.cpuSeconds / count) * 1_000;
  const rows = Object.entries(runs).map(([which, own]): [string, string] => {
    const costs = own.map(perThousand).sort((a, b) => a - b);
    const ratios = own.map((run, round) => perThousand(run) / perThousand(runs.http[round]!)).sort((a, b) => a - b);
    const middle = Math.floor(rounds / 2);
    return [
      names[which as Client],
      `CPU s per 1,000: ${costs[0]!.toFixed(3)} to ${costs.at(-1)!.toFixed(3)}; ${ratios[middle]!.toFixed(2)} × node:http`,
    ];
  });
  return { rows, figures: { runs } };
}

export async function bare(which: Client, url: string, count: number): Promise<Bare> {
  const child = fork(fileURLToPath(new URL('./bare.ts', import.meta.url)), [which, url, String(count), '64']);
  const [figures] = (await once(child, 'message')) as [Bare];
  return figures;
}
