/** What stays in V8's old generation after work that has ended (docs/decisions/0005-libraries.md). */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectYoung = runInNewContext('() => gc({ type: "minor" })') as () => void;
const oldBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;

/**
 * By how many bytes the old generation grows while `call` runs `times` times, each with a text of `bytes` of its own. A few hundred times at
 * most: compiled code keeps nothing.
 */
export async function oldGenerationGrowth(
  { times, bytes }: { times: number; bytes: number },
  call: (text: string) => Promise<unknown>,
): Promise<number> {
  const textOf = (index: number) => String(index).padEnd(bytes, 'x');
  for (let index = 0; index < 5; index += 1) await call(textOf(index));
  collectYoung();
  collectYoung();
  const before = oldBytes();
  for (let index = 1; index <= times; index += 1) {
    await call(textOf(index));
    if (index % 20 === 0) collectYoung();
  }
  collectYoung();
  return oldBytes() - before;
}

/**
 * Runs a program in a process of its own, and answers the JSON of the last line that it prints: in a process that has run other tests, V8 may have decided to put
 * more into the old generation.
 */
export async function runAlone(program: URL, ...given: string[]): Promise<unknown> {
  const flags = ['--no-allocation-site-pretenuring', '--conditions=source'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, fileURLToPath(program), ...given]);
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}
