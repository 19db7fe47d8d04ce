/** `npm run chaos`: prints the verdict as a table and writes bench/results/chaos.json; ends with 0 only if everything is proven. */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Context } from '../local/commands/command.ts';
import { rootFolder, writePrivate } from '../local/processes/home.ts';
import { Trouble } from '../local/processes/trouble.ts';
import { type ChaosOptions, runChaos } from './chaos.ts';
import { rowsOf } from './proof.ts';

export default async function chaos(context: Context): Promise<number> {
  const options = readOptions(context.args);
  const { say } = context;
  say.line(`  ${options.seconds} s of chaos, --seed ${options.seed}`);
  const verdict = await runChaos(context, options);
  say.line();
  for (const [what, value] of rowsOf(verdict)) say.line(`  ${what.padEnd(46)} ${value}`);
  say.line();
  for (const complaint of verdict.complaints) say.line(`  ✗ ${complaint}`);
  say.line(verdict.complaints.length === 0 ? '  proven: nothing was lost' : '  NOT proven');
  writePrivate(
    join(rootFolder, 'bench/results/chaos.json'),
    `${JSON.stringify({ name: 'chaos', at: new Date().toISOString(), options, ...verdict }, undefined, 2)}\n`,
  );
  return verdict.complaints.length === 0 ? 0 : 1;
}

function readOptions(args: string[]): ChaosOptions {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({
    args,
    options: { seconds: text, rate: text, failing: text, seed: text, only: text, freeze: flag, cluster: flag },
  });
  const number = (name: 'seconds' | 'rate' | 'failing' | 'seed', otherwise: number, max = Number.MAX_SAFE_INTEGER) => {
    const value = values[name] === undefined ? otherwise : Number(values[name]);
    if (value >= 0 && value <= max) return value;
    throw new Trouble(`--${name} takes a number from 0 to ${max}.`);
  };
  return {
    accounts: 20,
    seconds: number('seconds', 120),
    eventsPerSecond: number('rate', 150),
    failingShare: number('failing', 0.02, 0.5),
    freezes: values.freeze === true,
    cluster: values.cluster === true,
    ...(values.only === undefined ? {} : { only: values.only.split(',') }),
    seed: number('seed', randomInt(1_000_000)),
  };
}
