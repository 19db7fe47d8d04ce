/**
 * 100,000 accounts in virtual time, of which 1,000 flood, through the code that admits, parks and releases
 * (services/dispatcher/test/simulate.ts): measures fairness and memory.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freshDatabase } from '@gatepost/testkit/stores';
import type { Result } from './main.ts';

const program = fileURLToPath(new URL('../services/dispatcher/test/simulate.ts', import.meta.url));

export async function simulation(options: Record<string, string | undefined>): Promise<Result> {
  await using database = await freshDatabase();
  const asked = ['100000', '1000', options.seconds ?? '20'];
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=source',
    program,
    database.url,
    ...asked,
  ]);
  const figures = JSON.parse(stdout) as Record<string, unknown>;
  return { rows: Object.entries(figures).map(([name, value]) => [name, JSON.stringify(value)]), figures };
}
