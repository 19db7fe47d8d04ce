/** Structured logs: one JSON line per unit of work on standard output. */
import { types } from 'node:util';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { maskUrlsIn } from './mask.ts';

export type Log = Logger;

/**
 * Opens the log of one process. Field names are dotted nouns (`client.id`, `delivery.id`, `duration_ms`); an error goes
 * under `error`. Never log a secret, a token, a cookie, a password, a signature, a payload or personal data.
 */
export function openLog(service: string, level: string, destination?: DestinationStream): Log {
  const options: LoggerOptions = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: describeError },
    messageKey: 'message',
  };
  return destination ? pino(options, destination) : pino(options);
}

const described = new WeakSet<object>();

/** Name, code, message and causes of an error, without the fields that drivers hang on it (queries, parameters). */
export function describeError(error: unknown): unknown {
  if (described.has(error as object)) return error; // the caller did it already
  // Not `instanceof`: errors of Node itself are another realm's under a test runner.
  if (!types.isNativeError(error)) return maskUrlsIn(String(error));
  const { code } = error as { code?: unknown };
  const description = {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    // Of a value that was put into the wrong variable, a driver or Node may repeat the whole.
    message: maskUrlsIn(error.message),
    stack: error.stack && maskUrlsIn(error.stack),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
  described.add(description);
  return description;
}
