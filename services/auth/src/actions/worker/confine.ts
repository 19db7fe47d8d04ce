/**
 * Removes what an action has no use for. It runs in this realm, since in one of its own Node's classes would differ: these are not walls
 * but locked doors. The walls are the process, its permissions, and the network namespace where there is one.
 */

import { Server, Socket } from 'node:net';

/** The Node modules that an action may require: those that only compute. */
// biome-ignore format: a list
export const computing = [
  'assert', 'assert/strict', 'buffer', 'crypto', 'events', 'path', 'path/posix', 'punycode', 'querystring', 'stream', 'stream/consumers',
  'stream/promises', 'stream/web', 'string_decoder', 'timers', 'timers/promises', 'url', 'util', 'util/types', 'zlib',
];
/** Ways to the network, and to other processes. */
const goneGlobals = ['WebSocket', 'EventSource', 'BroadcastChannel', 'Worker', 'gc'];

/** Parts of `process` that Node itself needs while an action runs. An action may reach it, and the sockets, through listeners of its own. */
const keptOfProcess = new Set([
  '_fatalException',
  '_tickCallback',
  'cwd',
  'emitWarning',
  'exit',
  'hasUncaughtExceptionCaptureCallback',
  'hrtime',
  'memoryUsage',
  'nextTick',
  'reallyExit',
  'setUncaughtExceptionCaptureCallback',
  'uptime',
]);
/** Values that identify another process or a file. */
const goneOfProcess = ['mainModule', 'report', 'ppid', 'pid', 'stdin', 'stdout', 'stderr'];

/** @returns the action’s `require`. @param fetch replaces Node’s. @param socket the only connection, now and later */
export function confine(fetch: typeof globalThis.fetch, socket: Socket): (name: unknown) => unknown {
  const { getBuiltinModule, version, versions, hrtime, nextTick } = process;
  const modules = new Map(computing.map((name) => [name, getBuiltinModule(name)]));
  for (const name of goneGlobals) Reflect.deleteProperty(globalThis, name);
  const shown = { env: {}, argv: [], version, versions: { node: versions.node }, platform: 'linux', nextTick };
  const real = process as unknown as Record<string, unknown>; // everything on it is removed, whatever it is
  closeConnections(socket);
  for (const name of Object.getOwnPropertyNames(real))
    if (goneOfProcess.includes(name) || (typeof heldBy(real, name) === 'function' && !keptOfProcess.has(name)))
      lock(real, name);
  for (const [name, value] of Object.entries({ fetch, process: { ...shown, hrtime } }))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  return (name) => {
    const found = modules.get(String(name).replace(/^node:/, ''));
    if (found === undefined)
      throw new Error(`Cannot find module '${String(name)}': actions have ${computing.join(', ')}`);
    return found;
  };
}

/**
 * Prevents any further connection, to a network or to a socket file: through the class of the socket to the gate, or through Node's fetch,
 * which uses the same functions.
 */
function closeConnections(socket: Socket): void {
  const { _handle: pipe } = socket as unknown as { _handle: object }; // Node's own, missing in the typings
  for (const prototype of [Socket.prototype, Server.prototype, Object.getPrototypeOf(pipe)] as object[])
    for (const name of ['connect', 'listen', '_listen2', 'bind', 'open', 'fchmod']) lock(prototype, name);
  const dispatchers = Object.getOwnPropertySymbols(globalThis).filter((symbol) =>
    symbol.description?.startsWith('undici.globalDispatcher'),
  );
  // They cannot be deleted.
  for (const symbol of dispatchers) Reflect.set(globalThis, symbol, undefined);
}

/** Permanent: the property stays empty and cannot be set again. */
export function lock(object: object, name: string): void {
  Object.defineProperty(object, name, { value: undefined, configurable: false, writable: false });
}

/** Some of the process’s values are created on first access; none of those is a function. */
function heldBy(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value;
}
