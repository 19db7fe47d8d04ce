/** What some tests need besides the stores: programs, installed from the distribution if missing, and the repository's history. */
import { findLastRelease } from '@gatepost/testkit/last-release';
import type { Context } from '../local/commands/command.ts';
import type { Say } from '../local/commands/say.ts';
import { findProgram } from '../local/processes/child.ts';
import { findInstaller } from '../local/stores/debian.ts';

type Place = Pick<Context, 'env' | 'say' | 'signal'>;

/**
 * The browser of the browser tests: its path, or undefined if it is unavailable. Debian also builds a headless Chromium without windows: on
 * the same pages it takes less than half the CPU time.
 */
export async function findTestBrowser(place: Place): Promise<string | undefined> {
  const { env, say } = place;
  const find = () => findProgram(['chromium-headless-shell'], env.PATH);
  const given = env.CHROMIUM_PATH || find();
  if (given) return given;
  const install = await findInstaller(place);
  // Not every distribution has it.
  if (install) await say.step('Chromium', 'installed', () => install(['chromium-headless-shell'])).catch(() => {});
  return find() ?? findChromium(place);
}

/** The full Chromium: its path, or undefined if it is unavailable. */
export async function findChromium(place: Place): Promise<string | undefined> {
  const { env, say } = place;
  const find = () => findProgram(['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'], env.PATH);
  const given = env.CHROMIUM_PATH || find();
  if (given) return given;
  const install = await findInstaller(place);
  // If it cannot be installed, only browser tests are affected.
  if (install) await say.step('Chromium', 'installed', () => install(['chromium'])).catch(() => {});
  const found = find();
  if (!found)
    say.about(
      'Chromium',
      'is missing: the browser tests (*.browser.test.ts) are skipped. Install it, or set CHROMIUM_PATH',
    );
  return found;
}

/** The connection pooler that some tests put between the services and PostgreSQL, and a shell that completes our commands. */
export async function needOthers(place: Place): Promise<void> {
  await need(place, 'PgBouncer', 'pgbouncer');
  await need(place, 'zsh', 'zsh');
}

/** @param name of the program and of its package */
async function need(place: Place, title: string, name: string): Promise<void> {
  const { env, say } = place;
  if (findProgram([name], env.PATH)) return;
  const install = await findInstaller(place);
  if (install) await say.step(title, 'installed', () => install([name]));
  else say.about(title, `is missing: the tests that need it will fail. Install the package ${name}`);
}

/** Whether this clone's history reaches back to the last release, which the upgrade test runs. */
export async function hasLastRelease(say: Say): Promise<boolean> {
  const has = (await findLastRelease()) !== undefined;
  if (!has)
    say.about(
      'the history',
      'of this clone does not reach the last release: tests/upgrade.test.ts is skipped. git fetch --unshallow --tags',
    );
  return has;
}
