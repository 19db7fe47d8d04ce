/** The services' environment, and `.gatepost/services.env`, for starting them alone. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { CertificateFiles } from '../processes/certificates.ts';
import { rootFolder, typedIn, writePrivate } from '../processes/home.ts';
import { portOf } from '../processes/ports.ts';
import { Trouble } from '../processes/trouble.ts';
import { redisKeyPrefix } from '../stores/redis.ts';
import type { urlsOf } from '../stores/stores.ts';

/** The services' variables. */
const ours =
  /^(DATABASE_URL$|AUTH_|WEBHOOK_|DISPATCHER_|REDIS_|AMQP_URL$|PRODUCER|SECRETS_KEY|SEED_FILE$|ISSUER|JWKS_URL$|MAIL_|SMS_|DELIVERY_|OUTBOUND_|TRUST|TLS_|RETRY_|THROTTLE_|EVENT|ORGANIZATION_|HOST$|START_|STOP_|STORE_|GATEPOST_)/;
const others = /^(LOG_LEVEL|NODE_ENV|PG[A-Z]+|FORCE_COLOR)$/;

/** The environment for programs under test: nothing that leads to anybody's data or changes a default. */
export function cleanEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.test(name) && !others.test(name)));
}

/** Makes the variables, including all given ones of ours. */
export function servicesEnv(
  home: string,
  given: NodeJS.ProcessEnv,
  urls: ReturnType<typeof urlsOf>,
  certificate: Pick<CertificateFiles, 'cert' | 'key'>,
): Record<string, string> {
  // These two, if empty, allow no network; any other empty variable counts as not given.
  const counts = (name: string, value = '') => ours.test(name) && (value !== '' || name.endsWith('ALLOWED_NETWORKS'));
  return {
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.2/32',
    // A developer's gate notifies applications on the same machine of logouts.
    OUTBOUND_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    AUTH_TLS_PORT: String(portOf(given, 'AUTH_TLS_PORT')),
    WEBHOOK_API_TLS_PORT: String(portOf(given, 'WEBHOOK_API_TLS_PORT')),
    TLS_CERT_FILE: certificate.cert,
    TLS_KEY_FILE: certificate.key,
    ISSUER_ALIASES: tlsIssuer(given),
    REDIS_KEY_PREFIX: redisKeyPrefix,
    ORGANIZATION_ACCOUNTS: 'on',
    // The issuer moves with the gate's port.
    ...(given.AUTH_PORT && { ISSUER: `http://localhost:${given.AUTH_PORT}/` }),
    ...Object.fromEntries(Object.entries(given).filter(([name, value]) => counts(name, value))),
    DATABASE_URL: urls.PostgreSQL,
    REDIS_URL: urls.Redis,
    AMQP_URL: urls.RabbitMQ,
    SECRETS_KEY: given.SECRETS_KEY || secretsKey(home),
    SEED_FILE: seedFiles(given).join(','),
    GATEPOST_HOME: home,
  };
}

/** What the services need; exists from the first `npm start` on. */
export const servicesEnvFile = (home: string) => join(home, 'services.env');

/** Only what a program that publishes events needs. */
export const producerEnvFile = (home: string) => join(home, 'producer.env');

export function readEnvFile(file: string): NodeJS.Dict<string> | undefined {
  return existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : undefined;
}

export function writeEnvFile(file: string, values: Record<string, string>): void {
  const lines = Object.entries(values).map(([name, value]) => `${name}=${quote(value)}`);
  writePrivate(file, `# Written by npm start at every start.\n${lines.join('\n')}\n`);
}

/** Quotes a value for both Node's `--env-file` and a POSIX shell. */
export function quote(value: string): string {
  if (/^[\w:/.,@%+=-]*$/.test(value)) return value;
  return value.includes("'") ? `"${value}"` : `'${value}'`;
}

/** The gate's issuer at its TLS port. */
export function tlsIssuer(env: NodeJS.ProcessEnv): string {
  return env.TLS_ISSUER || `https://localhost:${portOf(env, 'AUTH_TLS_PORT')}/`;
}

/** The webhook API's URL, with a trailing slash; its audience is only a name. */
export function webhookApiUrl(env: NodeJS.ProcessEnv): string {
  return env.WEBHOOK_API_URL?.replace(/\/*$/, '/') || `http://localhost:${portOf(env, 'WEBHOOK_API_PORT')}/`;
}

/**
 * The demo's seed, then the files in `SEED_FILE`, relative to where the command was typed (the services have other working folders). If it
 * is empty, no seed at all. @throws Trouble with the number of a missing file, not its name: a misplaced value may be a secret.
 */
export function seedFiles(given: NodeJS.ProcessEnv): string[] {
  if (given.SEED_FILE?.trim() === '') return [];
  const folder = typedIn(given);
  const own = given.SEED_FILE?.split(',').map((file) => resolve(folder, file.trim())) ?? [];
  const number = own.findIndex((file) => !existsSync(file)) + 1;
  if (number > 0)
    throw new Trouble(`SEED_FILE: there is no such file (number ${number} of ${own.length}), seen from ${folder}`);
  return [...new Set([join(rootFolder, 'infra/demo/seed.yaml'), ...own])];
}

/** Made once, and kept in its own file: without it, the stored secrets cannot be read. */
function secretsKey(home: string): string {
  const file = join(home, 'secrets-key');
  if (!existsSync(file)) writePrivate(file, `${randomBytes(32).toString('base64')}\n`);
  return readFileSync(file, 'utf8').trim();
}
