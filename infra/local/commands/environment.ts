/** The services' environment, and `.gatepost/services.env`, for starting them alone. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { readValueFile } from '@gatepost/runtime/env';
import { rootFolder, writePrivate } from '../processes/home.ts';
import { servicePorts } from '../processes/ports.ts';
import { findVariables } from '../processes/services.ts';
import { Trouble } from '../processes/trouble.ts';
import { redisKeyPrefix } from '../stores/redis.ts';
import type { urlsOf } from '../stores/stores.ts';

/** Variables of our commands; OpenTelemetry's library reads some by itself. */
const ofCommands = /^(PRODUCER_AMQP_URL$|GATEPOST_|OTEL_)/;

/** Answers which variables are ours: what a service reads, as `NAME` or from the file that `NAME_FILE` names, and what our commands read. */
export async function findOurs(): Promise<(name: string) => boolean> {
  const read = await findVariables();
  return (name) => read.has(name) || read.has(name.replace(/_FILE$/, '')) || ofCommands.test(name);
}

/**
 * The environment with the values that are in files (`DATABASE_URL_FILE`), relative to where the command was typed, under their own names: we need
 * some of them ourselves, and would otherwise put our own before them. @throws Trouble naming a file that cannot be read
 */
export async function withFiles(given: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const { INIT_CWD: typedIn = '' } = given;
  const read = await findVariables();
  const values = { ...given };
  for (const name of ['PRODUCER_AMQP_URL', ...read.keys()]) {
    const variable = `${name}_FILE`;
    const file = given[variable];
    if (!file || given[name] || read.has(variable)) continue;
    try {
      values[name] = readValueFile(resolve(typedIn, file));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new Trouble(`${variable}: the file cannot be read (${code}), seen from ${resolve(typedIn)}`);
    }
    delete values[variable];
  }
  return values;
}

/** Makes the services' variables, including all given ones of ours. */
export async function servicesEnv(
  home: string,
  given: NodeJS.ProcessEnv,
  urls: ReturnType<typeof urlsOf>,
  { cert, key }: { cert: string; key: string },
): Promise<Record<string, string>> {
  const isOurs = await findOurs();
  const read = await findVariables();
  const counts = (name: string, value = '') => isOurs(name) && (value !== '' || read.get(name)?.emptyIsValue);
  const own = Object.fromEntries(Object.entries(given).filter(([name, value]) => counts(name, value)));
  const ports = { ...servicePorts, ...own };
  return {
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.2/32',
    // A developer's gate notifies applications on the same machine of logouts.
    OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    TLS_CERT_FILE: cert,
    TLS_KEY_FILE: key,
    ISSUER: `http://localhost:${ports.AUTH_PORT}/`,
    ISSUER_ALIASES: tlsIssuer(ports),
    REDIS_KEY_PREFIX: redisKeyPrefix,
    ORGANIZATION_ACCOUNTS: 'on',
    ...ports,
    DATABASE_URL: urls.PostgreSQL,
    REDIS_URL: urls.Redis,
    AMQP_URL: urls.RabbitMQ,
    SECRETS_KEY: given.SECRETS_KEY || secretsKey(home),
    SEED_FILE: seedFiles(given).join(','),
    GATEPOST_HOME: home,
  };
}

/** `services.env` or `producer.env`, which has only what a program that publishes events needs; nothing before the first `npm start`. */
export function readEnvFile(home: string, whose: 'services' | 'producer'): NodeJS.Dict<string> {
  const file = join(home, `${whose}.env`);
  return existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {};
}

export function writeEnvFile(home: string, whose: 'services' | 'producer', values: Record<string, string>): void {
  const lines = Object.entries(values).map(([name, value]) => `${name}=${quote(value)}\n`);
  writePrivate(join(home, `${whose}.env`), `# Written by npm start at every start.\n${lines.join('')}`);
}

/** Quotes a value for both Node's `--env-file` and a POSIX shell. */
export function quote(value: string): string {
  if (/^[\w:/.,@%+=-]*$/.test(value)) return value;
  return value.includes("'") ? `"${value}"` : `'${value}'`;
}

/** The gate's issuer at its TLS port. */
export const tlsIssuer = (env: NodeJS.ProcessEnv) => env.TLS_ISSUER || `https://localhost:${env.AUTH_TLS_PORT}/`;

/** The webhook API's URL, with a trailing slash; its audience is only a name. */
export function webhookApiUrl({ WEBHOOK_API_URL: url, WEBHOOK_API_PORT: port = '4500' }: NodeJS.ProcessEnv): string {
  return url?.replace(/\/*$/, '/') || `http://localhost:${port}/`;
}

/**
 * The demo's seed, then the files in `SEED_FILE`, relative to where the command was typed (the services have other working folders). If it
 * is empty, no seed at all. @throws Trouble with the number of a missing file, not its name: a misplaced value may be a secret.
 */
export function seedFiles({ SEED_FILE: given, INIT_CWD: typedIn = '' }: NodeJS.ProcessEnv): string[] {
  if (given?.trim() === '') return [];
  const own = given?.split(',').map((file) => resolve(typedIn, file.trim())) ?? [];
  const number = own.findIndex((file) => !existsSync(file)) + 1;
  if (number > 0)
    throw new Trouble(
      `SEED_FILE: there is no such file (number ${number} of ${own.length}), seen from ${resolve(typedIn)}`,
    );
  return [...new Set([join(rootFolder, 'infra/demo/seed.yaml'), ...own])];
}

/** Made once, and kept in its own file: without it, the stored secrets cannot be read. */
function secretsKey(home: string): string {
  const file = join(home, 'secrets-key');
  if (!existsSync(file)) writePrivate(file, `${randomBytes(32).toString('base64')}\n`);
  return readFileSync(file, 'utf8').trim();
}
