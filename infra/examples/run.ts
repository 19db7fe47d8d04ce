/**
 * Runs one quick start as its README says: the first block starts it and keeps running; a person signs in with Chromium; then the other
 * blocks are run beside it.
 */
import { cpSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { patienceMs } from '@gatepost/testkit/chromium';
import { until } from '@gatepost/testkit/until';
import type { Browser, Page } from 'playwright-core';
import { type Block, readBlocks } from '../docs/blocks.ts';
import { type Child, runToEnd, startChild } from '../local/processes/child.ts';
import { logFile, rootFolder } from '../local/processes/home.ts';
import { answers } from '../local/processes/ports.ts';
import { logEnd, Trouble } from '../local/processes/trouble.ts';
import type { QuickStart } from './quick-starts.ts';

export type Place = {
  /** The folder for the copy, the logs and the pictures. */
  folder: string;
  env: NodeJS.ProcessEnv;
  browser: Browser;
  signal: AbortSignal;
};

/** Packages must be downloaded, and Java has many. */
const startMs = 900_000;
const madeThere = new Set(['node_modules', '.next', '.venv', 'target', '__pycache__', 'package-lock.json']);

/** @throws Trouble with its program's last output. */
export async function runQuickStart(quickStart: QuickStart, place: Place): Promise<void> {
  const { name } = quickStart;
  const [start, ...others] = readBlocks(`examples/${name}/README.md`);
  if (!start) throw new Trouble(`examples/${name}/README.md has no commands`);
  const copy = join(place.folder, name);
  rmSync(copy, { recursive: true, force: true });
  cpSync(join(rootFolder, 'examples', name), copy, {
    recursive: true,
    filter: (source) => !madeThere.has(basename(source)),
  });
  if (quickStart.kind === 'program') {
    for (const block of [start, ...others]) await runProgram(name, block, copy, place);
    return;
  }
  await using program = startBlock(name, start, copy, place);
  await told(program, () => answers(quickStart.port, 'localhost'), place.signal);
  await signInAndOut(quickStart.port, name, place);
  for (const block of others) await typeBlock(block, copy, place);
  if (!quickStart.isServer) return;
  await told(program, (output) => output.includes('webhook: ping'), place.signal);
  await refusesLarge(quickStart.port, name);
}

/** Anybody may send a body without end, and its signature can be checked only once it has been read. */
async function refusesLarge(port: number, name: string): Promise<void> {
  const { status } = await fetch(`http://localhost:${port}/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-github-event': 'push', 'x-github-delivery': '1' },
    body: Buffer.alloc(25 * 1024 * 1024 + 1),
  });
  // Go's reader makes no difference between one that is too long and one that breaks off.
  if (status !== 413 && status !== 400)
    throw new Trouble(`examples/${name} reads a webhook of more than 25 MB: it answers ${status}`);
}

/** A program that prints where to sign in, then greets the person and ends. */
async function runProgram(name: string, block: Block, copy: string, place: Place): Promise<void> {
  await using program = startBlock(name, block, copy, place);
  const address = await told(program, (output) => /^https?:\/\/\S+$/m.exec(output)?.[0], place.signal);
  await using page = await openPage(place);
  await page.goto(address);
  await signIn(page);
  await told(program, (output) => output.includes('Signed in as Alice Example'), place.signal);
  await page.screenshot({ path: join(place.folder, `${name}-${block.line}.png`) });
}

function startBlock(name: string, { text }: Block, cwd: string, { folder, env }: Place): Child {
  const log = logFile(folder, name);
  rmSync(log, { force: true });
  return startChild({ command: 'bash', args: ['-ec', text], cwd, env, log });
}

/** Waits for the program's output or another event. @throws Trouble if the program ends first, or on a timeout. */
async function told<T>(
  program: Child,
  probe: (output: string) => T | Promise<T>,
  signal: AbortSignal,
): Promise<NonNullable<T>> {
  const lines = () => logEnd(program.log).map((line) => line.trim());
  try {
    return await until<NonNullable<T>>(
      'what it should say',
      async () => {
        const hit = await probe(lines().join('\n'));
        if (!hit && program.hasExited()) throw new Error('it ended');
        return hit || undefined;
      },
      startMs,
      signal,
    );
  } catch (error) {
    signal.throwIfAborted();
    throw new Trouble(`${(error as Error).message}; ${program.log}:`, ...logEnd(program.log));
  }
}

async function typeBlock(block: Block, cwd: string, { env, signal }: Place): Promise<void> {
  const ran = await runBlock(block.text, { cwd, env, signal });
  if (ran.code !== 0) throw new Trouble(`${block.file}:${block.line} failed:`, ran.output);
}

/** Makes curl fail on an answer of 4xx or 5xx, which it would otherwise only print. */
export function runBlock(text: string, options: { cwd: string; env: NodeJS.ProcessEnv; signal: AbortSignal }) {
  const strict = 'set -eo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n';
  return runToEnd('bash', ['-c', strict + text], { ...options, timeout: 300_000 });
}

async function signInAndOut(port: number, name: string, place: Place): Promise<void> {
  await using page = await openPage(place);
  const picture = (what: string) => page.screenshot({ path: join(place.folder, `${name}-${what}.png`) });
  await page.goto(`http://localhost:${port}/`);
  await page.click('text=Log in');
  await signIn(page);
  await page.waitForSelector('text=Signed in as Alice Example');
  await picture('signed-in');
  const list = page.locator('text=List the hooks');
  if (await list.count()) {
    await list.click();
    await page.waitForSelector('pre:has-text("200 [")');
    await picture('hooks');
    await page.goto(`http://localhost:${port}/`); // still signed in after a reload
  }
  await page.click('text=Log out');
  // Spring asks once more.
  const [out] = await Promise.race([
    page.waitForSelector('text=Log in').then(() => [true]),
    page.waitForSelector('button:has-text("Log Out")').then(() => [false]),
  ]);
  if (!out) await page.click('button:has-text("Log Out")');
  await page.waitForSelector('text=Log in');
  await picture('signed-out');
}

const typed = { identifier: 'alice@example.com', password: 'correct horse battery staple' };

/** Signs in as alice, page by page, and agrees to what she is asked. */
async function signIn(page: Page): Promise<void> {
  await page.waitForSelector('.gp-main');
  for (let step = 0; step < 8; step += 1) {
    const agree = page.locator('form:has(.gp-second[value=deny]) .gp-main');
    const button = (await agree.count()) ? agree : page.locator('.gp-main');
    if ((await button.count()) === 0) return; // back at the application
    for (const [name, text] of Object.entries(typed)) {
      const field = page.locator(`[name=${name}]:not([readonly])`);
      if (await field.isVisible()) await field.fill(text);
    }
    const next = page.waitForEvent('domcontentloaded');
    await button.first().click();
    await next;
  }
  throw new Trouble(`after eight pages of the gate still at ${page.url()}`);
}

async function openPage({ browser }: Place): Promise<Page & AsyncDisposable> {
  // No browser trusts the root of `npm start`; a person would continue past the warning.
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 900, height: 600 } });
  context.setDefaultTimeout(patienceMs);
  return Object.assign(await context.newPage(), { [Symbol.asyncDispose]: () => context.close() });
}
