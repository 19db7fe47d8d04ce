/**
 * The modules of Node as packages find them. Those that compute are Node's own; what asks over the network goes through the gate; some stand
 * there hollow, since packages load them and hardly ever use them. All others cannot be loaded.
 */
import { computing, lock } from './confine.ts';
import { openHttp } from './http.ts';
import type { Ask } from './outside.ts';

/** Node's own, or what stands in its place. @property names what can be imported of it by name */
export type Builtin = 'own' | { value(): unknown; names(): readonly string[] };

type Files = { readFileSync: typeof import('node:fs').readFileSync; place: (path: string) => string };

const { getBuiltinModule } = process;
const hollowOnes = ['dns', 'dns/promises', 'fs/promises', 'http2', 'net', 'tls'];
/** Emptied: whoever gets past the hooks finds nothing in them. They are ways out that Node's permissions do not cover. */
const emptied = ['dgram', 'dns', 'dns/promises'];

/** @returns by name, without anything that it inherits */
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
  const partly = (name: string, given: object) => add(name, () => hollow(name, given));
  for (const name of hollowOnes) partly(name, {});
  for (const module of emptied.map((name) => getBuiltinModule(name)!))
    for (const name of Object.getOwnPropertyNames(module)) lock(module, name);
  add('http', () => openHttp(ask).http);
  add('https', () => openHttp(ask).https);
  const shown = withWhatPackagesAsk(globalThis.process);
  add('process', () => shown);
  partly('fs', readingOf(files));
  partly('os', system);
  partly('tty', { isatty: () => false });
  const { AsyncLocalStorage, AsyncResource } = getBuiltinModule('async_hooks');
  partly('async_hooks', { AsyncLocalStorage, AsyncResource });
  partly('perf_hooks', { performance: globalThis.performance });
  return all;
}

/** Packages look at more of it than actions do, most of them at their start. None of it does anything. */
function withWhatPackagesAsk(process: object): object {
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

/** Of files, a package reads its own and those of its neighbours. */
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

/** Can be loaded, taken apart and inherited from; whoever calls it hears that it is not here. */
function hollow(path: string, given: object = {}): object {
  const refuse = (): never => {
    throw new Error(`${path} is not in an action`);
  };
  return new Proxy(class {}, {
    get(target, name) {
      if (typeof name === 'symbol' || name === 'then') return undefined;
      if (name === 'prototype') return target.prototype;
      return Object.hasOwn(given, name) ? Reflect.get(given, name) : hollow(`${path}.${name}`);
    },
    apply: refuse,
    construct: refuse,
  });
}
