/**
 * Loads test files with Node itself, which reads our TypeScript as in production. Jest's own runtime builds every module anew for every file,
 * which took a second or more each. Here the modules of services and packages are loaded once per worker, like those in `node_modules`, and
 * stay compiled and warm: their only state is what a file opens, and it closes that again. Each file has its tests' own modules anew.
 */
import { readFileSync } from 'node:fs';
import { createRequire, flushCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const workspace = pathToFileURL(join(import.meta.dirname, '../../')).href;
/** What test files import from `@jest/globals`, which itself only throws. */
const globals = new URL('globals.mjs', import.meta.url).href;
const openTelemetry = Symbol.for('opentelemetry.js.api.1');

process.setMaxListeners(0); // those of many files add up
// A worker with nothing left to do ends at once, without freeing its heap and writing its compiled modules.
if (process.send) process.once('beforeExit', () => process.kill(process.pid, 'SIGKILL'));

/** Counts this worker's files: each file's modules have its number in their URLs. */
let file = 0;
/** Cached for the worker. */
const resolved = new Map();
const stripped = new Map();
/** Modules of services and packages, loaded once per worker. */
const sources = /\/(services|packages)\/[\w-]+\/src\/(?!.*\.test\.ts$).*\.ts$/;
/** Validators made from descriptions, which takes seconds, and signing keys; they hold no state of a file. */
const shared = /\/test\/(support\/)?(conformance|github-openapi|made-keys)\.ts$/;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: `${globals}?${file}`, shortCircuit: true };
    const { parentURL = '' } = context;
    const [parent, number] = parentURL.split('?');
    if (number === undefined || !parent.endsWith('.ts') || !parent.startsWith(workspace))
      return next(specifier, context);
    const key = `${parent} ${specifier}`;
    let url = resolved.get(key);
    if (url === undefined) {
      ({ url } = next(specifier, { ...context, parentURL: parent }));
      resolved.set(key, url);
    }
    if (!url.endsWith('.ts') || sources.test(url)) return { url, shortCircuit: true };
    return { url: `${url}?${shared.test(url) ? 0 : number}`, shortCircuit: true };
  },
  load(url, context, next) {
    if (!/\.ts\?\d+$/.test(url)) return next(url, context);
    const path = fileURLToPath(url);
    let source = stripped.get(path);
    if (source === undefined) {
      source = stripTypeScriptTypes(readFileSync(path, 'utf8'));
      stripped.set(path, source);
    }
    return { format: 'module', source, shortCircuit: true };
  },
});

/** The part of Jest's runtime that its runner and test framework call. */
export default class NodeRuntime {
  #environment;
  #before;

  constructor(_config, environment) {
    file += 1;
    this.#environment = environment;
    this.#before = { env: { ...process.env }, fetch: globalThis.fetch, exit: process.exit };
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  unstable_importModule(path) {
    return import(`${pathToFileURL(path).href}?${file}`);
  }

  requireModule(path) {
    return require(path);
  }

  /** The test framework, whose state belongs to one file. */
  requireInternalModule(path) {
    delete require.cache[path];
    return require(path);
  }

  setGlobalsForRuntime(given) {
    globalThis[Symbol.for('gatepost.test')] = { ...given, jest: this.#environment.jest };
  }

  enterTestCode() {}

  leaveTestCode() {}

  getSourceMaps() {
    return new Map();
  }

  getAllCoverageInfoCopy() {}

  /** Restores the process for the next file. */
  teardown() {
    const { env, fetch, exit } = this.#before;
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    Object.assign(globalThis, { fetch });
    process.exit = exit;
    delete globalThis[openTelemetry];
    // Written now, since a worker is ended by a signal, on which Node would not write it. Later files would write the same modules under other
    // numbers, which no other run would find.
    if (file === 1) flushCompileCache();
  }
}
