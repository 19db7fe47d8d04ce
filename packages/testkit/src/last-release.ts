/**
 * The release before this checkout, extracted from the repository's own history: it runs while an upgrade replaces it, and it is what an
 * operator goes back to.
 */
import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** Until there is a tag: the last commit whose schemas lack people's second factors, roles and organizations, and hooks' statistics. */
const beforeTags = '888cd6294fc289f4b5866a905835c236c55e990b';

export type Release = Disposable & {
  /** A tag such as `v1.2.0`, or a commit. */
  name: string;
  /** Its checkout, whose services start from source. */
  folder: string;
};

/** The newest release tag before HEAD of that checkout; undefined if its history does not reach one. */
export async function findLastRelease(checkout = root): Promise<string | undefined> {
  const git = (...args: string[]) =>
    run('git', args, { cwd: checkout }).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    );
  const tag = await git('describe', '--tags', '--abbrev=0', '--match=v[0-9]*', 'HEAD^');
  const name = tag ?? beforeTags;
  return (await git('cat-file', '-e', `${name}^{commit}`)) === undefined ? undefined : name;
}

/** Puts it into a folder of its own, with this checkout's dependencies if they are the same, otherwise with those in its lock file. */
export async function openLastRelease(): Promise<Release> {
  const name = await findLastRelease();
  if (!name) throw new Error('this clone lacks the history of the last release: `git fetch --unshallow --tags`');
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  using undo = new DisposableStack();
  undo.defer(() => rmSync(folder, { recursive: true }));
  const inFolder = async (command: string) => {
    const env = { ...process.env, PATH: `${folder}/node_modules/.bin:${process.env.PATH}`, NODE_ENV: 'development' };
    await run('/bin/sh', ['-c', command], { cwd: folder, env, maxBuffer: 2 ** 28 });
  };
  await run('/bin/sh', ['-c', 'git archive "$0" | tar --extract --directory "$1"', name, folder], { cwd: root });
  const owners = globSync('{packages,services}/*/package.json', { cwd: folder });
  if (owners.every((file) => hasSameDependencies(file, folder))) {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    // Only links: to what is installed here, and to the release's own packages.
    for (const modules of globSync('{packages,services}/*/node_modules', { cwd: root }))
      if (existsSync(join(folder, modules, '..')))
        await run('cp', ['--archive', root + modules, join(folder, modules)]);
  } else
    await inFolder(
      'npx --yes "$(node -p "require(\'./package.json\').packageManager")" install --frozen-lockfile --prefer-offline',
    );
  for (const owner of ['services/auth', 'packages/webhook-db'])
    await inFolder(`cd ${owner} && PRISMA_SCHEMA_ENGINE_BINARY=/bin/sh node_modules/.bin/prisma generate`);
  // Node runs the TypeScript directly: compiling a service that starts a few times costs more than all its starts.
  for (const manifest of globSync('services/*/package.json', { cwd: folder }).map((file) => join(folder, file)))
    writeFileSync(
      manifest,
      readFileSync(manifest, 'utf8').replace(' dist/main.js"', ' --conditions=source src/main.ts"'),
    );
  const kept = undo.move();
  return { name, folder, [Symbol.dispose]: () => kept.dispose() };
}

/** Whether the dependencies of a package of the release are installed in this checkout. */
function hasSameDependencies(file: string, folder: string): boolean {
  if (!existsSync(root + file)) return false;
  type Kind = 'dependencies' | 'devDependencies' | 'optionalDependencies';
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<Kind, Record<string, string>>;
  const ours = read(root + file);
  const theirs = read(join(folder, file));
  const installed = { ...ours.devDependencies, ...ours.dependencies };
  const needed = { ...theirs.dependencies, ...theirs.optionalDependencies };
  return Object.entries(needed).every(([name, version]) => installed[name] === version);
}
