/** The browser of the browser tests. */
import { findProgram } from '../processes/programs.ts';
import type { Machine } from '../stores/stores.ts';
import type { Say } from './say.ts';

/** The path of an installed Chromium or Chrome, installed from the distribution if there is none; undefined if that cannot be. */
export async function findChromium(machine: Machine, say: Say): Promise<string | undefined> {
  const given = machine.env.CHROMIUM_PATH || find(machine.env.PATH);
  if (given) return given;
  const install = await machine.installer();
  if (install) {
    // What the distribution does not have, or cannot bring now, only browser tests lack.
    const found = say
      .step('Chromium', 'installed', (note) => install('chromium', note))
      .then(
        () => find(machine.env.PATH),
        () => undefined,
      );
    if (await found) return found;
  }
  say.about(
    'Chromium',
    'is missing: the browser tests (*.browser.test.ts) are skipped. Install it, or set CHROMIUM_PATH',
  );
  return undefined;
}

function find(path?: string): string | undefined {
  return findProgram(['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'], path);
}
