/**
 * `npm test`: types, lint, then the tests of jest.config.mjs, with stores of their own. The last line is `N passed, N failed`; types and
 * lint count as one each, as does a test file that could not run. A failed file is run once more alone, and listed as flaky if it then
 * passes.
 *
 *   npm test -- --only unit              one or more of: types, lint, unit, integration, stories
 *   npm test -- --only integration services/dispatcher      further arguments narrow the files, as in Jest
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../local/commands/command.ts';
import { runToEnd } from '../local/processes/child.ts';
import { makeFolder, rootFolder } from '../local/processes/home.ts';
import { Trouble } from '../local/processes/trouble.ts';
import { cleanEnv } from './clean-env.ts';
import { type Count, total } from './count.ts';
import { runJest } from './jest.ts';
import { openOwnStores } from './own-stores.ts';
import { findTestBrowser, needOthers } from './programs.ts';

export default async function test(context: Context): Promise<number> {
  const { say, args } = context;
  const config = await import(join(rootFolder, 'jest.config.mjs'));
  const projects: string[] = config.default.projects.map((project: { displayName: string }) => project.displayName);
  const { only, rest } = parseArgs(args, ['types', 'lint', ...projects]);
  const chosen = projects.filter((project) => only.includes(project));

  const counts: Count[] = [];
  try {
    await runAll(context, only, chosen, rest, counts);
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    console.error(error.message);
    counts.push({ name: 'stores', passed: 0, failed: 1 });
  }
  const { passed, failed } = total(counts, chosen.length > 0);
  say.line();
  for (const count of counts) say.about(count.name, `${count.passed} passed, ${count.failed} failed`);
  for (const file of counts.flatMap((count) => count.flaky ?? [])) say.about('flaky', `${file} failed, then passed`);
  say.line(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Tests run beside it, and each further checker looks at many of the same types again: four take a third more CPU. */
const oneChecker = ['--checkers', '1'];

/** Checks types and lint while stores start and tests run. Adds a count as each part ends. @throws Trouble, at once, if tests lack their stores. */
async function runAll(context: Context, only: string[], chosen: string[], rest: string[], counts: Count[]) {
  const plain = process.stdout.isTTY ? [] : ['--colors=off'];
  const checks = async () => {
    if (only.includes('types')) counts.push(await check(context, 'types', 'tsc', ['--build', ...oneChecker]));
    if (only.includes('lint')) counts.push(await check(context, 'lint', 'biome', ['ci', ...plain, '.']));
  };
  const tests = async () => {
    if (chosen.length === 0) return;
    await using stores = chosen.some((project) => project !== 'unit') ? await openStores(context) : undefined;
    using temporary = openTemporaryFolder();
    const env = stores ? await testEnv(context, stores) : await cleanEnv(context.env);
    counts.push(await runJest(context, chosen, rest, { ...env, TMPDIR: temporary.path }));
  };
  await Promise.all([checks(), tests()]);
}

/** For all that tests write to temporary folders, also those that were killed. Its path is short: Unix sockets are in it. */
function openTemporaryFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'gatepost-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/** `--only a,b`, repeatable; the rest goes to Jest. */
function parseArgs(args: string[], known: string[]): { only: string[]; rest: string[] } {
  const isName = args.map((_, index) => args[index - 1] === '--only');
  const only = args.filter((_, index) => isName[index]).flatMap((names) => names.split(','));
  const rest = args.filter((arg, index) => arg !== '--only' && !isName[index]);
  const unknown = only.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Trouble(`--only takes ${known.join(', ')}; not \`${unknown.join(', ')}\`.`);
  return { only: only.length > 0 ? only : known, rest };
}

async function check({ say, signal, env: given }: Context, name: string, program: string, args: string[]) {
  const env = await cleanEnv(given);
  const work = async () => (await runToEnd(program, args, { env, signal, show: true })).code === 0;
  const passed = await say.step(name, (ok) => (ok ? 'no complaint' : 'see above'), work);
  return { name, passed: passed ? 1 : 0, failed: passed ? 0 : 1 };
}

/** Installs missing programs while the stores start. */
async function openStores(context: Context) {
  let chromium: string | undefined;
  const stores = await openOwnStores(context, 'test', undefined, async () => {
    chromium = await findTestBrowser(context);
    await needOthers(context);
  });
  return { ...stores, chromium };
}

async function testEnv(
  { env, home }: Context,
  stores: Awaited<ReturnType<typeof openStores>>,
): Promise<NodeJS.ProcessEnv> {
  return {
    ...(await cleanEnv(env)),
    NODE_ENV: 'test',
    GATEPOST_HOME: makeFolder(join(home, 'test', 'home')),
    TEST_DATABASE_URL: stores.urls.PostgreSQL,
    TEST_REDIS_URL: stores.urls.Redis,
    TEST_AMQP_URL: stores.urls.RabbitMQ,
    ...(stores.managementUrl ? { TEST_AMQP_MANAGEMENT_URL: stores.managementUrl } : {}),
    ...(stores.chromium ? { CHROMIUM_PATH: stores.chromium } : {}),
  };
}
