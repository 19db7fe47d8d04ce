/** A hostile npm package has what an action has, and no more: no file but its neighbours', no socket, no process, nothing of another action. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeGuard } from '@gatepost/runtime/address';
import { afterAll, describe, expect, test } from '@jest/globals';
import { makeAskOutside } from '../../src/actions/outside.ts';
import { openActionPackages } from '../../src/actions/packages.ts';
import { openActionPool } from '../../src/actions/pool.ts';
import { makeNpmFolder } from '../npm-folder.ts';
import { openCountingServer } from './counting-server.ts';

const stack = new DisposableStack();
afterAll(() => stack.dispose());
const npm = stack.use(makeNpmFolder(['lodash']));
const packages = openActionPackages(npm.folder);
const pool = stack.use(
  openActionPool({
    limits: { timeoutMs: 20_000, memoryBytes: 64 * 1024 * 1024 },
    packages: packages.folder,
    outside: makeAskOutside(makeGuard([]), ['*']),
  }),
);
let versions = 0;
/** What an action says that names these packages. */
async function said(dependencies: string[], code: string): Promise<unknown> {
  versions += 1;
  const whole = `exports.handle = async (event, api) => api.accessToken.setCustomClaim('said', await (async () => { ${code} })());`;
  const call = { trigger: 'post-login', handler: 'handle', event: {} };
  const ran = await pool.run({ version: `version ${versions}`, code: whole, secrets: {}, dependencies }, call);
  return ran.kind === 'done' ? ran.commands[0]?.args[1] : ran;
}
/** A package whose `tries` are run; each is the way of one that gets somewhere. @returns the names of those that do */
async function open(name: string, ways: Record<string, string>, before = ''): Promise<unknown> {
  const tries = Object.entries(ways).map(
    ([way, code]) => `try { if ((await (async () => { ${code} })()) !== undefined) open.push('${way}'); } catch {}`,
  );
  npm.write(name, {
    'index.js': `${before} module.exports = async () => { const open = []; ${tries.join('\n')} return open; };`,
  });
  return said([name], `return await require('${name}')();`);
}
const secret = join(npm.folder, 'secret.json');
writeFileSync(secret, '{"secret":"of the operator"}');
writeFileSync(join(npm.folder, 'outside.js'), 'module.exports = "outside";');
const loader = `const Module = module.constructor;`;
/** Ways that lead to the network or to another process, by these modules. */
const doors = {
  ...Object.fromEntries(
    // biome-ignore format: a list
    ['child_process', 'cluster', 'dgram', 'inspector', 'inspector/promises', 'module', 'repl', 'sqlite', 'test', 'trace_events', 'v8', 'vm', 'wasi', 'worker_threads']
      .flatMap((name) => [[name, `return require('node:${name}')`], [`import ${name}`, `return import('node:${name}')`]]),
  ),
  connect: `return require('net').connect(1, '127.0.0.1')`,
  socket: `return new (require('node:net').Socket)()`,
  listen: `return require('net').createServer().listen(0)`,
  tls: `return require('tls').connect(1)`,
  dns: `return require('dns').lookup('example.com', () => {})`,
  http2: `return require('http2').connect('http://127.0.0.1:1')`,
  server: `return require('http').createServer`,
  websocket: `return require('http').WebSocket`,
  internal: `return require('internal/bootstrap/realm')`,
  builtin: `return process.getBuiltinModule`,
  binding: `return process.binding`,
  dlopen: `return process.dlopen`,
  data: `return import('data:text/javascript,export default 1')`,
  remote: `return import('https://example.com/x.js')`,
};

test('an action package reads no file outside its folder, by any means', async () => {
  const at = npm.write('reader', { 'own.json': '{"own":1}', 'native.node': 'x' });
  symlinkSync(secret, join(at, 'link.json'));
  symlinkSync(secret, join(at, 'link.js'));
  symlinkSync('/', join(at, 'root'));
  const ways: Record<string, string> = {};
  for (const path of [
    '/etc/passwd',
    '/proc/self/environ',
    secret,
    './link.json',
    './link.js',
    './root/etc/passwd',
    '../../secret.json',
  ]) {
    const absolute = `require('path').resolve(__dirname, '${path}')`;
    ways[`require ${path}`] = `return require('${path}')`;
    ways[`import ${path}`] = `return import('${path}')`;
    ways[`read ${path}`] = `return require('fs').readFileSync(${absolute})`;
    ways[`exists ${path}`] = `return require('fs').existsSync(${absolute}) || undefined`;
    for (const kind of ['.js', '.json'])
      ways[`${kind} ${path}`] = `let text; const own = { exports: {}, _compile(code) { text = code; } };
         try { module.constructor._extensions['${kind}'](own, ${absolute}); } catch (error) { if (error.message.includes('secret') && error instanceof SyntaxError) text = error.message; }
         return text ?? own.exports.secret;`;
  }
  Object.assign(ways, {
    promises: `return await require('fs/promises').readFile('/etc/passwd')`,
    stream: `return require('fs').createReadStream('/etc/passwd')`,
    write: `return require('fs').writeFileSync(__dirname + '/x', 'x')`,
    native: `return require('./native.node')`,
    manifest: `return module.constructor._readPackage(${JSON.stringify(npm.folder)}) ?? module.constructor.findPackageJSON('..', __filename)`,
    sourceMap: `return module.constructor.findSourceMap(__filename)`,
  });
  expect(await open('reader', ways)).toEqual([]);
  expect(
    await open('reader', {
      own: `return require('./own.json')`,
      read: `return require('fs').readFileSync(__dirname + '/own.json', 'utf8')`,
    }),
  ).toEqual(['own', 'read']);
});

test('an action package cannot load a Node module for the network, processes or threads', async () => {
  expect(await open('opener', doors)).toEqual([]);
});

test('an action package cannot load such a module through replaced language functions or the loader either', async () => {
  const replace = `function replaced(object, name, value) {
    const before = Object.getOwnPropertyDescriptor(object, name);
    Object.defineProperty(object, name, { value, configurable: true, writable: true });
    return () => (before ? Object.defineProperty(object, name, before) : delete object[name]);
  }`;
  const functions: [string, string, string][] = [
    ['Array.prototype', 'includes', '() => true'],
    ['Map.prototype', 'get', `() => 'own'`],
    ['Object', 'hasOwn', '() => true'],
    ['Object.prototype', 'dgram', `'own'`],
    ['Object.prototype', 'toString', `() => 'node:crypto'`],
    ['Set.prototype', 'has', '() => true'],
    ['String.prototype', 'endsWith', '() => false'],
    ['String.prototype', 'includes', '() => false'],
    ['String.prototype', 'replace', `() => 'crypto'`],
    ['String.prototype', 'slice', `() => 'crypto'`],
    ['String.prototype', 'startsWith', '() => true'],
    ['String.prototype', 'startsWith', '() => false'],
    ['Function.prototype', 'call', '() => true'],
    ['Reflect', 'get', `() => 'own'`],
    ['Error', 'captureStackTrace', '() => {}'],
  ];
  const ways = functions.map(([object, name, value], at) => {
    const tries = ['node:dgram', 'dgram', 'vm', 'child_process', secret].map((module) => `() => require('${module}')`);
    const code = `const undo = replaced(${object}, '${name}', ${value}); const found = [];
      for (const way of [${tries.join(', ')}]) try { found[found.length] = way(); } catch {} undo(); return found[0];`;
    return [`${object}.${name} ${at}`, code] as const;
  });
  expect(await open('replacer', Object.fromEntries(ways), replace)).toEqual([]);
  const byLoader = {
    registerHooks: `return Module.registerHooks`,
    register: `return Module.register`,
    prepend: `Module._resolveFilename = () => 'dgram'; return require('./x')`,
    load: `return Module._load('dgram')`,
    loadNode: `return Module._load('node:child_process', module, false)`,
    create: `return Module.createRequire('/x.js')('dgram')`,
    createInside: `return Module.createRequire(__dirname + '/y.js')('node:vm')`,
    cache: `Module._pathCache[JSON.stringify(['./z', __dirname])] = Module._pathCache['./z\\x00' + __dirname] = ${JSON.stringify(secret)}; return require('./z')`,
    extensions: `Module._extensions['.txt'] = () => {}; return Module._extensions['.txt']`,
    standIn: `return globalThis[Symbol.for('gatepost.builtins')]('dgram')`,
    source: `return require('gatepost:commonjs/dgram')`,
    injected: `return require("gatepost:commonjs/fs');//")`,
    main: `return require.main && require.main.require('vm')`,
  };
  expect(await open('loaded', byLoader, loader)).toEqual([]);
});

describe('a package whose entry lies outside the folder is not loaded:', () => {
  test.each([
    ['by its main', { name: 'out', version: '1.0.0', main: '../../outside.js' }],
    ['by its exports', { name: 'out', version: '1.0.0', exports: '../../outside.js' }],
    ['by a pattern of its exports', { name: 'out', version: '1.0.0', exports: { '.': './x/../../../outside.js' } }],
    ['by an address', { name: 'out', version: '1.0.0', exports: `file://${npm.folder}/outside.js` }],
    ['by its imports', { name: 'out', version: '1.0.0', exports: './in.js', imports: { '#x': '../../outside.js' } }],
    ['as a module of Node', { name: 'out', version: '1.0.0', exports: './node.js', imports: { '#x': 'node:dgram' } }],
  ])('%s', async (_how, manifest) => {
    const text = `module.exports = require('#x');`;
    npm.write('out', { 'package.json': JSON.stringify(manifest), 'in.js': text, 'node.js': text });
    expect(await said(['out'], `try { require('out'); return 'loaded'; } catch (error) { return 'refused'; }`)).toBe(
      'refused',
    );
  });

  test('through a symbolic link', async () => {
    symlinkSync(join(import.meta.dirname, '../../src/actions'), join(npm.folder, 'node_modules', 'linked'));
    expect(await packages.problemsOf([{ name: 'linked', version: 'latest' }])).toEqual([
      'linked is not installed here',
    ]);
    expect(
      await said(
        ['linked'],
        `try { require('linked/runner.ts'); return 'loaded'; } catch (error) { return error.message; }`,
      ),
    ).toContain('outside');
  });
});

test('an action package cannot reach private addresses, cloud metadata or a Unix socket', async () => {
  using server = await openCountingServer();
  const { port } = server;
  const ask = (target: string) =>
    `return await new Promise((resolve, reject) => require('http').get(${target}, resolve).on('error', reject))`;
  const ways = {
    loopback: ask(`'http://127.0.0.1:${port}/'`),
    mapped: ask(`'http://[::ffff:127.0.0.1]:${port}/'`),
    metadata: ask(`'http://169.254.169.254/latest/meta-data/'`),
    options: ask(`{ host: 'localhost', port: ${port}, path: '/' }`),
    smuggled: ask(`{ host: 'example.com@127.0.0.1', port: '${port}', path: '/' }`),
    path: ask(`{ host: 'example.com', path: 'http://127.0.0.1:${port}/' }`),
    socket: ask(`{ socketPath: '/tmp/x', path: '/' }`),
    lookup: ask(
      `{ host: 'name.invalid', port: ${port}, lookup: (_name, _options, done) => done(null, '127.0.0.1', 4) }`,
    ),
    agent: ask(`{ port: ${port}, agent: new (require('http').Agent)({ keepAlive: true }) }`),
    secure: `return await new Promise((resolve, reject) => require('https').get('https://127.0.0.1:${port}/', resolve).on('error', reject))`,
    fetch: `return await fetch('http://127.0.0.1:${port}/')`,
  };
  expect(await open('asker', ways)).toEqual([]);
  expect(server.asked()).toBe(0);
});

test('an action package changes nothing that another action sees, in a package or in the language', async () => {
  const changing = `const _ = require('lodash'); _.chunk = () => 'changed'; Object.prototype.polluted = 1; globalThis.left = 1; return _.chunk([1]);`;
  expect(await said(['lodash'], changing)).toBe('changed');
  expect(await said(['lodash'], `return [require('lodash').chunk([1]), ({}).polluted ?? null, typeof left];`)).toEqual([
    [[1]],
    null,
    'undefined',
  ]);
});

test('an action package sees no environment variables, arguments or other processes', async () => {
  npm.write('looks', {
    'index.js': `module.exports = [Object.keys(process.env), process.argv, process.pid ?? null, process.kill ?? null, process.exit ?? null];`,
  });
  expect(await said(['looks'], `return require('looks');`)).toEqual([[], [], null, null, null]);
});
