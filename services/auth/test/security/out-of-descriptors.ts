/** Runs actions while this process has no descriptor left, and when it has some again. Prints how the runs ended. */
import { closeSync, openSync } from 'node:fs';
import { findNetworkNamespace } from '../../src/actions/network-namespace.ts';
import { openActionPool } from '../../src/actions/pool.ts';

// It grows far beyond the limit, though not without end, or takes a second, in which its memory is measured several times.
const code = `exports.handle = async ({ grows }) => {
  const all = Array.from({ length: grows ? 40 : 0 }, () => Buffer.alloc(10_000_000, 1));
  await new Promise((resolve) => setTimeout(resolve, grows ? 5_000 : 1_000));
  return all;
};`;
const found: boolean[] = [];
const open = () =>
  openActionPool({
    limits: { timeoutMs: 20_000, memoryBytes: 64 * 1024 * 1024 },
    outside: () => Promise.reject(new Error('nothing is there')),
    onStart: ({ isSeparate }) => void found.push(isSeparate),
  });
using pool = open();
const run = async (version: string, { on = pool, grows = false } = {}) => {
  const call = { trigger: 'post-login', handler: 'handle', event: { grows } };
  const ran = await on.run({ version, code, secrets: {} }, call);
  return ran.kind === 'done' ? 'done' : ran.reason;
};

async function withoutDescriptors<T>(act: () => Promise<T>): Promise<T> {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    // There is none left.
  }
  try {
    return await act();
  } finally {
    for (const descriptor of taken) closeSync(descriptor);
  }
}

const before = await withoutDescriptors(async () => {
  const closing = open();
  const last = run('first', { on: closing });
  closing[Symbol.dispose]();
  return [await last, await run('first')];
});
const between = await run('first');
const again = await withoutDescriptors(() => Promise.all([run('first'), run('second')]));
const after = [await run('second'), await run('first', { grows: true })];
const isNamespaceRight = found.length === 1 && found[0] === (await findNetworkNamespace()).length > 0;
console.log(JSON.stringify({ before, between, again, after, isNamespaceRight }));
