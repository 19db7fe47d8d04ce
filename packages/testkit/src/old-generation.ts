/** What stays in V8's old generation after work that has ended (docs/decisions/0005-libraries.md). */
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
