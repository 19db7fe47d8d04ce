/**
 * How Jest loads test files: by Node itself, which reads our TypeScript as in production. Jest's own runtime builds every module anew for every
 * file, which took a second and more of each. Here what services and packages are made of is loaded once a worker, as what lies in `node_modules` is,
 * and stays compiled and warm: their state is that of what was opened, and a file closes what it opens. The tests' own modules each file has anew.
 */
import { readFileSync } from 'node:fs';
import { createRequire, flushCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const workspace = pathToFileURL(join(import.meta.dirname, '../../')).href;
/** What test files import from `@jest/globals`, which by itself is but an error. */
const globals = new URL('globals.mjs', import.meta.url).href;
const openTelemetry = Symbol.for('opentelemetry.js.api.1');

process.setMaxListeners(0); // those of many files come together

/** Counts the files of this worker: the modules of each have its number in their URLs. */
let file = 0;
/** What is worked out once a worker. */
const resolved = new Map();
const stripped = new Map();
/** What is loaded once a worker: what services and packages are made of. */
const sources = /\/(services|packages)\/[\w-]+\/src\/(?!.*\.test\.ts$).*\.ts$/;
/** Validators of descriptions, which take seconds to make, and signing keys; they hold nothing of a file's. */
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

/** The part of Jest's runtime that its runner and its test framework call. */
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

  /** The test framework, whose state is that of one file. */
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

  /** The next file finds the process as this one did. */
  teardown() {
    const { env, fetch, exit } = this.#before;
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    Object.assign(globalThis, { fetch });
    process.exit = exit;
    delete globalThis[openTelemetry];
    // A worker is ended by a signal, at which Node would not write it. Later files would write the same modules under other numbers, for no
    // other run to find.
    if (file === 1) flushCompileCache();
  }
}
