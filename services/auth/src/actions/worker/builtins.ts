/**
 * Node's modules as packages see them. Those that only compute are Node's own; network modules go through the gate; some are hollow stubs,
 * since packages load them but hardly ever use them. No others can be loaded.
 */
import { computing, lock } from './confine.ts';
import { openHttp } from './http.ts';
import type { Ask } from './outside.ts';

/** Node's own, or its replacement. @property names its named exports */
export type Builtin = 'own' | { value(): unknown; names(): readonly string[] };

type Files = { readFileSync: typeof import('node:fs').readFileSync; place: (path: string) => string };

const { getBuiltinModule } = process;
const hollowOnes = ['dns', 'dns/promises', 'fs/promises', 'http2', 'net', 'tls'];
/** Emptied, so that getting past the hooks is of no use. They are ways out that Node's permissions do not cover. */
const emptied = ['dgram', 'dns', 'dns/promises'];

/** @returns the modules by name, in an object without prototype */
export function builtins(ask: Ask, files: Files): Record<string, Builtin | undefined> {
  const all: Record<string, Builtin> = Object.create(null);
  for (const name of computing) all[name] = 'own';
  const add = (name: string, value: () => unknown) => {
    let made: { value: unknown } | undefined;
    all[name] = {
      value: () => {
        made ??= { value: value() };
        return made.value;
      },
      names: () => Object.keys(getBuiltinModule(name) ?? {}),
    };
  };
  const partly = (name: string, given: object) => add(name, () => stubModule(name, given));
  for (const name of hollowOnes) partly(name, {});
  for (const module of emptied.map((name) => getBuiltinModule(name)!))
    for (const name of Object.getOwnPropertyNames(module)) lock(module, name);
  add('http', () => openHttp(ask).http);
  add('https', () => openHttp(ask).https);
  const shown = processForPackages(globalThis.process);
  add('process', () => shown);
  partly('fs', readingOf(files));
  partly('os', system);
  partly('tty', { isatty: () => false });
  const { AsyncLocalStorage, AsyncResource } = getBuiltinModule('async_hooks');
  partly('async_hooks', { AsyncLocalStorage, AsyncResource });
  partly('perf_hooks', { performance: globalThis.performance });
  return all;
}

/** Packages look at more of `process` than actions do, mostly while loading. None of it does anything. */
function processForPackages(process: object): object {
  const output = { isTTY: false, fd: -1, write: () => true };
  const same = () => process;
  const listening = { on: same, once: same, off: same, addListener: same, removeListener: same, emit: () => false };
  return Object.assign(process, {
    ...listening,
    [Symbol.toStringTag]: 'process',
    arch: 'x64',
    cwd: () => '/',
    emitWarning: () => {},
    release: { name: 'node' },
    stderr: output,
    stdout: output,
  });
}

/** The only files a package can read are its own and those of its neighbours. */
function readingOf({ readFileSync, place }: Files) {
  return {
    readFileSync: (path: unknown, options: unknown) => readFileSync(place(String(path)), options as 'utf8'),
    existsSync(path: unknown) {
      try {
        return place(String(path)) !== '';
      } catch {
        return false;
      }
    },
  };
}

const system = {
  EOL: '\n',
  arch: () => 'x64',
  cpus: () => [],
  homedir: () => '/',
  hostname: () => 'localhost',
  platform: () => 'linux',
  release: () => '',
  tmpdir: () => '/tmp',
  type: () => 'Linux',
};

/** A module that can be loaded, destructured and inherited from; calling it reports that it is unavailable. */
function stubModule(path: string, given: object = {}): object {
  const refuse = (): never => {
    throw new Error(`${path} is not in an action`);
  };
  return new Proxy(class {}, {
    get(target, name) {
      if (typeof name === 'symbol' || name === 'then') return undefined;
      if (name === 'prototype') return target.prototype;
      return Object.hasOwn(given, name) ? Reflect.get(given, name) : stubModule(`${path}.${name}`);
    },
    apply: refuse,
    construct: refuse,
  });
}
