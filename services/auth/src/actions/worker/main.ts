/**
 * The process that runs one version of an action, and nothing else. It starts with no environment and no permission to read files, start
 * processes or threads, or load native code (process.ts holds its start command); its access to the network and to itself is removed here
 * before the action’s code is read. It knows only this action's secrets.
 */
import { Socket } from 'node:net';
import { compileFunction, constants } from 'node:vm';
import { makeApi } from './api.ts';
import { confine } from './confine.ts';
import { collectOutput } from './console.ts';
import { withoutSecrets } from './mask.ts';
import { type Order, type Report, readLines } from './messages.ts';
import { makeFetch } from './outside.ts';
import { openPackages } from './packages.ts';

const socket = new Socket({ fd: 3, readable: true, writable: true });
const { parse, stringify } = JSON;
const { setTimeout, clearTimeout } = globalThis;
const exit = process.exit.bind(process);
const send = (report: Report): void => void socket.write(`${stringify(report)}\n`);

// An unhandled error is the action’s own affair: it cannot be attributed to a run.
process.on('unhandledRejection', () => {}).on('uncaughtException', () => {});

const outside = makeFetch((request) => send({ type: 'fetch', ...request }));
const require = confine(outside.fetch, socket);
let exported: Record<string, unknown> = {};
let secrets: Record<string, string> = {};
const output = collectOutput((text) => withoutSecrets(text, secrets));

socket.on(
  'data',
  readLines(
    (line) => handleOrder(parse(line) as Order),
    () => exit(1),
  ),
);
// The gate is gone.
socket.on('close', () => exit(0));
socket.on('error', () => exit(0));

function handleOrder(order: Order): void {
  switch (order.type) {
    case 'load':
      load(order);
      return;
    case 'run':
      return void run(order);
    case 'fetched':
      outside.answered(order.fetch, order.answer);
      return;
    case 'fetch failed':
      outside.failed(order.fetch, order.message);
      return;
    case 'ping':
      send({ type: 'pong' });
      return;
  }
}

function load(order: Extract<Order, { type: 'load' }>): void {
  secrets = order.secrets;
  try {
    const module = { exports: {} as Record<string, unknown> };
    const names = ['exports', 'require', 'module', '__filename', '__dirname'];
    const packages = order.packages && openPackages(order.packages, outside.ask);
    const importing = packages && { importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
    const filename = packages?.filename ?? 'action.js';
    const body = compileFunction(order.code, names, { filename, ...importing });
    body.call(module.exports, module.exports, packages?.require ?? require, module, 'action.js', '/');
    exported = module.exports;
    send({ type: 'loaded' });
  } catch (error) {
    send({ type: 'broken', message: messageOf(error) });
  }
}

async function run(order: Extract<Order, { type: 'run' }>): Promise<void> {
  const { run: number, trigger, handler, timeoutMs, canRedirect = false } = order;
  const said = output.begin();
  const failed = (reason: 'threw' | 'timeout' | 'absent', message: string) =>
    send({ type: 'failed', run: number, reason, message, output: said() });
  const execute = exported[handler];
  if (typeof execute !== 'function') return failed('absent', `the action does not export ${handler}`);
  const { api, commands } = makeApi(trigger, { canRedirect, event: order.event });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), timeoutMs);
  });
  try {
    const event = { ...order.event, secrets: { ...secrets }, configuration: {} };
    const ended = await Promise.race([execute(event, api), late]);
    if (ended === 'late') failed('timeout', `it took more than ${timeoutMs} ms`);
    else send({ type: 'done', run: number, commands: commands(), output: said() });
  } catch (error) {
    failed('threw', messageOf(error));
  } finally {
    clearTimeout(timer);
  }
}

function messageOf(error: unknown): string {
  try {
    const text = String(error instanceof Error ? `${error.name}: ${error.message}` : error);
    return withoutSecrets(text, secrets).slice(0, 1_000);
  } catch {
    return 'an error that cannot be shown';
  }
}
