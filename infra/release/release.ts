/**
 * `npm run release -- 1.2.0`: makes the commit and annotated tag of a release, only in the current checkout. Pushing them is the maintainer's
 * next step (docs/releasing.md). A failed release leaves nothing behind.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { versionOf, writeVersion } from './version.ts';

const usage = 'npm run release -- 1.2.0';

/** Returns the tag. @throws when something must be done first; the message says what. */
function release(root: string, version: string, today: string): string {
  // Git's own error messages reach the terminal.
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  const tag = `v${version}`;
  const changelog = path.join(root, 'CHANGELOG.md');
  const current = versionOf(path.join(root, 'package.json'));

  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) throw new Error(`which version? ${usage}`);
  if (isBefore(version, current)) throw new Error(`${version} is before ${current}, which package.json says`);
  if (git('tag', '--list', tag)) throw new Error(`there is a tag ${tag} already: a mistake is the next version`);
  const changed = git('status', '--porcelain');
  if (changed) throw new Error(`commit or take back what is changed first:\n${changed}`);
  const text = readFileSync(changelog, 'utf8');
  const notes = unreleased(text);
  if (!notes) throw new Error('CHANGELOG.md: nothing stands under "## Unreleased"');
  if (!/^### Upgrading/m.test(notes))
    throw new Error(
      'CHANGELOG.md: "### Upgrading" is missing under "## Unreleased": what must an operator do? If only the migrations are to be run, say so',
    );

  const before = git('rev-parse', 'HEAD');
  try {
    writeVersion(root, version);
    writeFileSync(changelog, text.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} (${today})`));
    git('commit', '--quiet', '--all', '--message', `release ${version}`);
    // Signed if git is configured to (`tag.gpgSign`). The headings of the notes begin like git's own comments.
    git('tag', '--annotate', '--cleanup=whitespace', '--message', `Gatepost ${version}\n\n${notes}`, tag);
  } catch (error) {
    git('reset', '--quiet', '--hard', before); // the tree was clean
    throw error;
  }
  return tag;
}

/** The text below that heading, up to the next version's; empty if there is none. */
function unreleased(changelog: string): string {
  const [, after = ''] = changelog.split(/^## Unreleased$/m);
  return after.split(/^## /m)[0]!.trim();
}

/** Compares the three numbers only: ordering a release candidate before its release is up to the maintainer. */
function isBefore(version: string, other: string): boolean {
  const [a, b] = [version, other].map((one) => one.split('-')[0]!.split('.').map(Number)) as [number[], number[]];
  const differs = a.findIndex((part, index) => part !== b[index]);
  return differs !== -1 && a[differs]! < b[differs]!;
}

try {
  const root = execFileSync('git', ['rev-parse', '--show-toplevel'], { encoding: 'utf8' }).trim();
  const tag = release(root, process.argv[2] ?? '', new Date().toISOString().slice(0, 10));
  process.stdout.write(`${tag} is made. To publish it: git push --atomic origin HEAD ${tag}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
