/** oidc-provider as npm has it: ours is patched, which makes it faster and would hide what we add. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const name = 'oidc-provider';
const entry = 'lib/index.js';

/** Copies the installed package, takes our patch back, and answers the URL to import. */
export function publishedProvider(): string {
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const installed = realpathSync(here(`./node_modules/${name}`));
  const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string };
  const modules = here('./results/published/node_modules');
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(modules, { recursive: true });
  // With its dependencies, which pnpm links beside it.
  cpSync(join(installed, '..'), modules, { recursive: true });
  const made = join(modules, name);
  const root = here('..');
  const patch = `patches/${name}@${version}.patch`;
  const patched = readFileSync(join(root, patch), 'utf8').matchAll(/^\+\+\+ b\/(.+)$/gm);
  const changed = [...patched].map(([, path]) => join(made, path!));
  const before = changed.map((path) => readFileSync(path, 'utf8'));
  execFileSync('git', ['apply', '--reverse', `--directory=${relative(root, made)}`, patch], { cwd: root });
  // Files that are not where git looks for them are passed over in silence.
  if (changed.some((path, index) => readFileSync(path, 'utf8') === before[index]))
    throw new Error(`our patch of ${name} was not taken back`);
  return pathToFileURL(join(made, entry)).href;
}
