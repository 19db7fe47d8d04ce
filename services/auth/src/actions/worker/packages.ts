/**
 * Loads the npm packages that an action names, from the operator's folder, with Node's own loader. Hooks check everything that is loaded:
 * nothing comes from outside that folder, and of Node's modules only those that actions have (builtins.ts). Packages run in this realm, so
 * the built-in functions used here were captured before any of their code ran.
 */
import { readFileSync, realpathSync } from 'node:fs';
import Module, { createRequire, isBuiltin, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { builtins } from './builtins.ts';
import { lock } from './confine.ts';
import type { Packages } from './messages.ts';
import type { Ask } from './outside.ts';

const { call } = Function.prototype;
const startsWith = call.bind(String.prototype.startsWith) as (text: string, start: string) => boolean;
const endsWith = call.bind(String.prototype.endsWith) as typeof startsWith;
const includes = call.bind(String.prototype.includes) as typeof startsWith;
const indexOf = call.bind(String.prototype.indexOf) as (text: string, part: string) => number;
const slice = call.bind(String.prototype.slice) as (text: string, from: number, to?: number) => string;
const isAmong = call.bind(Array.prototype.includes) as (list: readonly string[], text: string) => boolean;

/** URLs of the stand-ins for Node's modules. */
const scheme = 'gatepost:';
const standIns = Symbol.for('gatepost.builtins');

/** The parts of the loader that a package may use: with the rest it could put hooks before ours, or read files past it. */
// biome-ignore format: a list
const keptOfLoader = new Set([
  'length', 'name', 'prototype', 'Module', 'builtinModules', 'constants', 'createRequire', 'globalPaths', 'isBuiltin', 'wrap', 'wrapper', '_cache',
  '_debug', '_extensions', '_findPath', '_initPaths', '_load', '_nodeModulePaths', '_pathCache', '_resolveFilename', '_resolveLookupPaths',
]);

/** @returns the action's `require`, and the filename from which its `import()` finds packages too */
export function openPackages({ folder, names }: Packages, ask: Ask): { require: NodeJS.Require; filename: string } {
  const inside = `${folder}/`;
  const filename = `${inside}action.js`;
  const action = pathToFileURL(filename).href;
  const place = (path: string): string => {
    const real = realpathSync(path);
    if (!startsWith(real, inside)) throw refused(`${path} lies outside of the folder of packages`);
    if (endsWith(real, '.node')) throw refused(`${path} is native code`);
    return real;
  };
  const given = builtins(ask, { readFileSync, place });
  const check = (url: unknown): void => {
    if (typeof url !== 'string') throw refused('what has no address');
    if (startsWith(url, 'node:')) {
      if (given[slice(url, 5)] !== 'own') throw refused(`${url} is not in an action`);
    } else if (!startsWith(url, 'file:')) throw refused(`${url} is no file`);
  };
  Object.defineProperty(globalThis, standIns, {
    value: (name: string) => {
      const found = given[name];
      return typeof found === 'object' ? found.value() : undefined;
    },
  });

  registerHooks({
    resolve(specifier, context, next) {
      const name = startsWith(specifier, 'node:') ? slice(specifier, 5) : specifier;
      const builtin = given[name];
      const format = isAmong(context.conditions, 'import') ? 'module' : 'commonjs';
      if (typeof builtin === 'object') return { url: `${scheme}${format}/${name}`, format, shortCircuit: true };
      if (builtin === undefined && isBuiltin(specifier)) throw refused(`${specifier} is not in an action`);
      if (builtin === undefined && context.parentURL === action && !isNamed(specifier, names))
        throw refused(`${specifier} is not among the action's dependencies`);
      const found = next(specifier, context);
      check(found.url);
      return found;
    },
    load(url, context, next) {
      if (!startsWith(url, scheme)) {
        check(url);
        // Checked here rather than on resolving: everything loaded passes through here, even if it skipped resolving.
        if (startsWith(url, 'file:')) place(fileURLToPath(url));
        return next(url, context);
      }
      const rest = slice(url, scheme.length);
      const format = slice(rest, 0, indexOf(rest, '/'));
      const name = slice(rest, format.length + 1);
      const builtin = given[name];
      if (typeof builtin !== 'object') throw refused(`${url} is not in an action`);
      const value = `globalThis[Symbol.for('gatepost.builtins')]('${name}')`;
      if (format !== 'module') return { format: 'commonjs', source: `module.exports = ${value};`, shortCircuit: true };
      const source = `const found = ${value}; export default found; export const { ${exportable(builtin.names())} } = found;`;
      return { format, source, shortCircuit: true };
    },
  });
  lockLoader();
  return { require: createRequire(filename), filename };
}

function lockLoader(): void {
  for (const name of Object.getOwnPropertyNames(Module)) if (!keptOfLoader.has(name)) lock(Module, name);
  Object.freeze((Module as unknown as { _extensions: object })._extensions); // Node's own, missing in the typings
  Object.freeze(Module);
}

/** A package on the list, or a path inside one. */
function isNamed(specifier: string, names: readonly string[]): boolean {
  if (includes(specifier, '..') || includes(specifier, '\\')) return false;
  for (let at = 0; at < names.length; at += 1)
    if (specifier === names[at] || startsWith(specifier, `${names[at]}/`)) return true;
  return false;
}

const exportable = (names: readonly string[]) =>
  names.filter((name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default').join(', ');

const refused = (what: string) => Object.assign(new Error(`Cannot find module: ${what}`), { code: 'MODULE_NOT_FOUND' });
