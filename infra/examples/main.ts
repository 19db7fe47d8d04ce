/** `npm run examples`: runs the quick starts of `examples/` as their READMEs say, against a running `npm start` or its own system. */
import { join } from 'node:path';
import { launchOptions } from '@gatepost/testkit/chromium';
import { chromium } from 'playwright-core';
import type { Context } from '../local/commands/command.ts';
import { findProgram } from '../local/processes/child.ts';
import { makeFolder } from '../local/processes/home.ts';
import { Trouble } from '../local/processes/trouble.ts';
import { findChromium } from '../tests/programs.ts';
import { type QuickStart, quickStarts } from './quick-starts.ts';
import { runQuickStart } from './run.ts';
import { dropHooksAt, useSystem } from './system.ts';

const help = `
npm run examples              runs all quick starts
npm run examples -- go vue    runs these

They take the ports 4701 to 4708, and download what they need. Without a running \`npm start\` one is started, with data of its own.`;

/** Returns 0 if all that could run here passed. */
export default async function examples({ args, env, home, say, signal, stack }: Context): Promise<number> {
  if (args.includes('--help')) {
    console.log(help.trim());
    return 0;
  }
  const unknown = args.filter((name) => quickStarts.every((one) => one.name !== name));
  if (unknown.length > 0)
    throw new Trouble(
      `no quick start ${unknown.join(', ')}; there are ${quickStarts.map(({ name }) => name).join(', ')}.`,
    );
  const chosen = quickStarts.filter(({ name }) => args.length === 0 || args.includes(name));

  const executablePath = await findChromium({ env, say, signal });
  if (!executablePath) throw new Trouble('The quick starts are tried in Chromium: install it, or set CHROMIUM_PATH.');
  const system = stack.use(await useSystem({ env, home, say, signal }));
  const browser = stack.adopt(await chromium.launch({ ...launchOptions, executablePath }), (opened) => opened.close());
  const folder = makeFolder(join(home, 'examples'));
  const results: string[] = [];
  for (const quickStart of chosen) {
    results.push(await runOne(quickStart));
    signal.throwIfAborted();
  }
  const count = (result: string) => results.filter((one) => one === result).length;
  say.line(
    `  ${count('passed')} passed, ${count('failed')} failed, ${count('not run')} not run; pictures and logs: ${folder}`,
  );
  return count('failed') === 0 ? 0 : 1;

  async function runOne(quickStart: QuickStart): Promise<'passed' | 'failed' | 'not run'> {
    const { name, needs } = quickStart;
    const missing = needs.filter((program) => !findProgram([program], env.PATH));
    if (missing.length > 0) {
      say.about(name, `not run: there is no ${missing.join(' and no ')} on this machine`);
      return 'not run';
    }
    if (quickStart.kind === 'site') await dropHooksAt(quickStart.port);
    const troubles: string[] = [];
    const passed = await say.step(
      name,
      (result) => (result ? 'passed' : 'failed'),
      async () => {
        try {
          await runQuickStart(quickStart, { folder, env: { ...env, ...system.trust }, browser, signal });
          return true;
        } catch (error) {
          troubles.push(error instanceof Trouble ? error.message : String(error));
          return false;
        }
      },
    );
    for (const line of troubles) say.line(line);
    return passed ? 'passed' : 'failed';
  }
}
