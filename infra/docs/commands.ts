/** `npm run docs:commands`: runs the documents' command blocks that can run against `npm start`, and reports those it did not run. */
import { globSync } from 'node:fs';
import { runBlock } from '../examples/run.ts';
import { dropHooksAt, useSystem } from '../examples/system.ts';
import type { Context } from '../local/commands/command.ts';
import { rootFolder } from '../local/processes/home.ts';
import { endOf } from '../local/processes/trouble.ts';
import { type Block, readBlocks } from './blocks.ts';

/** All but `examples/`, run by `npm run examples`, and the walk-through, run by its own test (it needs a seed file of its own). */
export function documents(): string[] {
  const patterns = ['*.md', 'docs/**/*.md', 'infra/**/*.md', 'packages/*/*.md', 'services/**/*.md', 'bench/*.md'];
  return globSync(patterns, {
    cwd: rootFolder,
    exclude: (name) => /(^|\/)(node_modules|dist)$/.test(String(name)),
  })
    .filter((file) => file !== 'docs/walk-through.md')
    .sort();
}

/** Documents that do more than look at a running system have tests of their own. */
const elsewhere: Record<string, string> = { 'docs/walk-through.md': 'tests/walk-through.test.ts' };

/** The documents' hooks lead to this port; nobody listens there. */
const hookPort = 8080;

/** Returns 0 if every block that was run succeeded, without an answer of 4xx or 5xx. */
export default async function commands({ args, env, home, say, signal, stack }: Context): Promise<number> {
  const files = args.length > 0 ? args : documents();
  const system = stack.use(await useSystem({ env, home, say, signal }));
  const options = { cwd: rootFolder, env: { ...env, ...system.trust, GATEPOST_HOME: system.home }, signal };
  const count = { ran: 0, failed: 0, notRun: 0 };
  for (const file of files) {
    const blocks = readBlocks(file);
    if (elsewhere[file]) {
      say.about(file, `not run: ${elsewhere[file]} does it`);
      count.notRun += blocks.length;
      continue;
    }
    for (const { line, notRun } of blocks) if (notRun) say.about(`${file}:${line}`, `not run: ${notRun}`);
    const some = blocks.filter(({ notRun }) => !notRun);
    count.notRun += blocks.length - some.length;
    if (some.length === 0) continue;
    await dropHooksAt(hookPort);
    let output = '';
    const passed = await say.step(
      file,
      (ok) => (ok ? `${some.length} ran` : 'failed'),
      async () => {
        const ran = await runBlock(asOne(some), options);
        output = ran.output;
        return ran.code === 0;
      },
    );
    if (passed) count.ran += some.length;
    else count.failed += 1;
    if (!passed) for (const line of endOf(output)) say.line(line);
  }
  say.line(`  ${count.ran} blocks ran, ${count.failed} documents failed, ${count.notRun} blocks not run`);
  return count.failed === 0 ? 0 : 1;
}

/** Joined as a reader types them in one terminal: later blocks use the variables of earlier ones. */
function asOne(blocks: Block[]): string {
  return blocks.map(({ file, line, text }) => `echo '# ${file}:${line}'\n${text}`).join('\n');
}
