/**
 * Takes away what an action has no use for. It runs in this realm, since one of its own would part it from the classes of Node: these
 * are no walls but locked doors. The walls are the process, its permissions, and the network namespace where there is one.
 */

/** The modules of Node that an action may require: those that compute. */
const allowed = [
  'assert',
  'buffer',
  'crypto',
  'events',
  'path',
  'punycode',
  'querystring',
  'stream',
  'string_decoder',
  'timers',
  'timers/promises',
  'url',
  'util',
  'zlib',
];
/** Ways to the network, and to other processes. */
const goneGlobals = ['WebSocket', 'EventSource', 'BroadcastChannel', 'Worker', 'gc'];

/** @returns the action’s `require`. @param fetch takes the place of Node’s */
export function confine(fetch: typeof globalThis.fetch): (name: unknown) => unknown {
  const { getBuiltinModule, version, versions, hrtime, nextTick } = process;
  const modules = new Map(allowed.map((name) => [name, getBuiltinModule(name)]));
  for (const name of goneGlobals) Reflect.deleteProperty(globalThis, name);
  const shown = { env: {}, argv: [], version, versions: { node: versions.node }, platform: 'linux', nextTick };
  const real = process as unknown as Record<string, unknown>;
  // Whoever gets at the real one through a listener of its own finds no way on.
  for (const name of ['binding', '_linkedBinding', 'dlopen', 'getBuiltinModule', 'kill', '_kill', 'mainModule'])
    Object.defineProperty(real, name, { value: undefined, configurable: false, writable: false });
  for (const [name, value] of Object.entries({ fetch, process: { ...shown, hrtime } }))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  return (name) => {
    const found = modules.get(String(name).replace(/^node:/, ''));
    if (found === undefined)
      throw new Error(`Cannot find module '${String(name)}': actions have ${allowed.join(', ')}`);
    return found;
  };
}
