/**
 * npm packages for actions (`ACTIONS_PACKAGES`): a folder with `node_modules` that the operator fills with npm. Nothing is ever installed
 * here; an action names the packages it needs, and its process may load those and their dependencies (worker/packages.ts).
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import { z } from 'zod';

/** As an action names a package. @property version exact, a range, or `latest`: whatever is installed */
export type Dependency = { name: string; version: string };

export type ActionPackages = {
  /** The real path of its `node_modules`; undefined if there is no folder. */
  folder: string | undefined;
  /** The packages named in the folder's own `package.json`, for actions from files, which have no list of their own. */
  listed: readonly string[];
  /** The problems with them, each naming its package; empty if they can be used. */
  problemsOf(dependencies: readonly Dependency[]): Promise<string[]>;
};

/** Follows npm's rules; never a path. */
export const packageName = z
  .string()
  .max(214)
  .regex(/^(?:@[a-z\d~-][a-z\d._~-]*\/)?[a-z\d~-][a-z\d._~-]*$/i, 'Not the name of a package');

const dependenciesShape = z.array(z.object({ name: packageName, version: z.string() }));
const manifestShape = z.object({ version: z.string() });
const listShape = z.object({ dependencies: z.record(packageName, z.string()).default({}) });

/** @throws Misconfigured if there is no `node_modules`, or the `package.json` cannot be read */
export function openActionPackages(folder: string | undefined): ActionPackages {
  if (folder === undefined) return none;
  const modules = join(folder, 'node_modules');
  if (!existsSync(modules)) throw new Misconfigured('ACTIONS_PACKAGES', [`${modules} does not exist: npm makes it`]);
  const real = realpathSync(modules);
  return {
    folder: real,
    listed: readList(join(folder, 'package.json')),
    async problemsOf(dependencies) {
      const found = await Promise.all(dependencies.map((dependency) => problemOf(real, dependency)));
      return found.filter((problem) => problem !== undefined);
    },
  };
}

const none: ActionPackages = {
  folder: undefined,
  listed: [],
  problemsOf: async (dependencies) =>
    dependencies.length === 0
      ? []
      : [
          `npm packages are not installed here (ACTIONS_PACKAGES): bundle ${dependencies.map(({ name }) => name).join(', ')} into the code`,
        ],
};

function readList(path: string): string[] {
  if (!existsSync(path)) return [];
  try {
    return Object.keys(listShape.parse(JSON.parse(readFileSync(path, 'utf8'))).dependencies);
  } catch {
    throw new Misconfigured('ACTIONS_PACKAGES', [`${path}: not a package.json`]);
  }
}

async function problemOf(folder: string, { name, version }: Dependency): Promise<string | undefined> {
  const installed = await installedVersion(folder, name);
  if (installed === undefined) return `${name} is not installed here`;
  if (version === 'latest' || version === '') return undefined;
  const { satisfies, validRange } = (await import('semver')).default;
  if (validRange(version) === null) return `${name}: ${version} is not a version`;
  if (satisfies(installed, version, { includePrerelease: true })) return undefined;
  return `${name} ${version} is not installed here, but ${installed}`;
}

/** Undefined if the package is missing, cannot be read, or is a link to elsewhere. */
async function installedVersion(folder: string, name: string): Promise<string | undefined> {
  try {
    const path = await realpath(join(folder, name, 'package.json'));
    if (!path.startsWith(folder + sep)) return undefined;
    return manifestShape.parse(JSON.parse(await readFile(path, 'utf8'))).version;
  } catch {
    return undefined;
  }
}

/** Reads the column: null if no packages were named. */
export const storedDependencies = (stored: unknown): Dependency[] =>
  stored === null ? [] : dependenciesShape.parse(stored);
