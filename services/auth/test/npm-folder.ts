/** A folder as npm leaves it, for `ACTIONS_PACKAGES`: real packages copied out of our own installation, and others written by a test. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export type NpmFolder = Disposable & {
  folder: string;
  /** A package with these files, `index.js` and the `package.json` of version 1.0.0 unless it has one. @returns its folder */
  write(name: string, files: Record<string, string>): string;
};

/** @param names of dependencies of this service; they come with what they need. */
export function makeNpmFolder(names: string[]): NpmFolder {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'npm-')));
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  const list = Object.fromEntries(names.map((name) => [name, '*']));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: list }));
  for (const name of names) copy(name, import.meta.dirname, modules);
  return {
    folder,
    write(name, files) {
      const all = { 'package.json': JSON.stringify({ name, version: '1.0.0' }), ...files };
      for (const [file, text] of Object.entries(all)) {
        const path = join(modules, name, file);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
      }
      return join(modules, name);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

function copy(name: string, from: string, to: string): void {
  const target = join(to, name);
  if (existsSync(target)) return;
  const source = find(name, from);
  // Types and maps are most of the files.
  const isLeft = (path: string) => /node_modules|\.d\.[cm]?ts$|\.map$/.test(path.slice(source.length));
  cpSync(source, target, { recursive: true, filter: (path) => !isLeft(path) });
  const { dependencies = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  for (const each of Object.keys(dependencies)) copy(each, source, to);
}

/** Where Node would find it. */
function find(name: string, from: string): string {
  const path = join(from, 'node_modules', name);
  if (existsSync(path)) return realpathSync(path);
  if (dirname(from) === from) throw new Error(`${name} is not installed`);
  return find(name, dirname(from));
}
