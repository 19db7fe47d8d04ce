/** Structured logs: one JSON line per unit of work on standard output. */
import { types } from 'node:util';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { maskUrlsIn } from './mask.ts';
import { tracing } from './tracing.ts';

export type Log = Logger;

/**
 * Opens a process's log. Field names are dotted nouns (`client.id`, `delivery.id`, `duration_ms`); an error goes under `error`. Never log a
 * secret, a token, a cookie, a password, a signature, a payload or personal data. `traced`: lines written for a request name its trace
 * (`trace_id`).
 */
export function openLog(
  service: string,
  level: string,
  destination?: DestinationStream,
  { traced = tracing !== undefined } = {},
): Log {
  const options: LoggerOptions = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: describeError },
    messageKey: 'message',
    ...(traced && { mixin: (_fields, number) => traceOfRequest(number) }),
  };
  const log = pino(options, destination ?? standardOutput());
  modulesOf.set(log, new Map());
  return log;
}

/** A line below info must not settle which trace a request belongs to, since the request may still find out. */
function traceOfRequest(level: number): { trace_id?: string } {
  const id = tracing?.traceId(level >= pino.levels.values.info!);
  return id === undefined ? {} : { trace_id: id };
}

let output: DestinationStream | undefined;

/** Shared by all logs of the process. */
function standardOutput(): DestinationStream {
  output ??= openOutput();
  return output;
}

/** How much is kept of lines that standard output does not take. */
const keptMax = 16 * 1024 * 1024;

/**
 * Standard output. Lines of one turn of the event loop are one write, completed before the process ends, whatever ends it from within. While
 * writing fails (a full disk), the first lines are kept for later and the others are dropped.
 */
function openOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: keptMax });
  output.on('error', () => {}); // a service that cannot log goes on
  output.on('drop', () => output.write('')); // tries to write what is kept: nothing else does while no line fits
  let lines = '';
  const write = () => {
    const written = lines;
    lines = '';
    if (written !== '') output.write(written);
  };
  process.on('exit', write);
  return {
    write(line) {
      if (lines === '') setImmediate(write);
      lines += line;
    },
  };
}

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The name, in level reports and settings, of the process's own lines, which belong to no module. */
const ownName = 'process';

const modulesOf = new WeakMap<Log, Map<string, Log>>();

/** The log of a part of the process: its lines name the `module`, and its level can be set separately. The same name gives the same log. */
export function logOfModule(log: Log, module: string): Log {
  const modules = modulesOf.get(log);
  const known = modules?.get(module);
  if (known) return known;
  const child = log.child({ module });
  modules?.set(module, child);
  return child;
}

/** The level of each module, and under `process` that of the process's own lines. */
export function levelsOf(log: Log): Record<string, string> {
  const modules = [...(modulesOf.get(log) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries([[ownName, log.level], ...modules.map(([name, { level }]) => [name, level])]);
}

/** Sets the level of a module, or of all if none is named, at run time. Answers false if there is no such module. */
export function setLevel(log: Log, level: LogLevel, module?: string): boolean {
  const all = new Map([[ownName, log], ...(modulesOf.get(log) ?? [])]);
  const meant = module === undefined ? [...all.values()] : [all.get(module)].filter((one) => one !== undefined);
  for (const one of meant) one.level = level;
  return meant.length > 0;
}

const described = new WeakSet<object>();

/** Name, code, message and causes of an error, without the fields that drivers attach (queries, parameters). */
export function describeError(error: unknown): unknown {
  if (described.has(error as object)) return error; // the caller did it already
  // Not `instanceof`: under a test runner, Node's own errors come from another realm.
  if (!types.isNativeError(error)) return maskUrlsIn(String(error));
  const { code } = error as { code?: unknown };
  const description = {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    // A driver or Node may quote a misplaced value in full.
    message: maskUrlsIn(error.message),
    stack: error.stack && maskUrlsIn(error.stack),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
  described.add(description);
  return description;
}
