/** The environment that the services get, and `.gatepost/services.env`, from which they can be started alone. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { CertificateFiles } from '../processes/certificates.ts';
import { rootFolder, writePrivate } from '../processes/home.ts';
import { portOf, servicePorts } from '../processes/services.ts';
import { Trouble } from '../processes/trouble.ts';
import type { StoreName } from '../stores/private.ts';
import { redisKeyPrefix } from '../stores/redis.ts';

/** What others who use this system must agree on; written down when it is given. */
const sharedVariables = [
  'HOST',
  'ISSUER',
  'TLS_ISSUER',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'ISSUER_ALIASES',
  'WEBHOOK_API_AUDIENCE',
  'WEBHOOK_API_URL',
  'AUTH_DATABASE_URL',
  'WEBHOOK_DATABASE_URL',
  'MAIL_URL',
  'SMS_URL',
  'SMS_FORMAT',
  'SMS_FROM',
  'EVENTS_ACCOUNT',
  'EVENT_CATALOG_FILE',
  ...servicePorts.map(({ variable }) => variable),
];

/** What a program that publishes events needs, and nothing that a service needs. */
export function writeProducerEnv(home: string, url: string): { PRODUCER_AMQP_URL: string } {
  const lines = ['# Written by npm start at every start: for producers.', `PRODUCER_AMQP_URL=${quote(url)}`];
  writePrivate(producerEnvFile(home), `${lines.join('\n')}\n`);
  return { PRODUCER_AMQP_URL: url };
}

/** The URL of the last start; undefined before the first. */
export function readProducerUrl(home: string): string | undefined {
  const file = producerEnvFile(home);
  return existsSync(file) ? parseEnv(readFileSync(file, 'utf8')).PRODUCER_AMQP_URL : undefined;
}

export function producerEnvFile(home: string): string {
  return join(home, 'producer.env');
}

/** Makes the variables and writes them down. What the environment gives goes before what is made here. */
export function writeServicesEnv(
  home: string,
  given: NodeJS.ProcessEnv,
  urls: Record<StoreName, string>,
  certificate: Pick<CertificateFiles, 'cert' | 'key'>,
): Record<string, string> {
  const values: Record<string, string> = {
    DATABASE_URL: urls.PostgreSQL,
    REDIS_URL: urls.Redis,
    REDIS_KEY_PREFIX: given.REDIS_KEY_PREFIX || redisKeyPrefix,
    AMQP_URL: urls.RabbitMQ,
    SECRETS_KEY: given.SECRETS_KEY || secretsKey(home),
    SEED_FILE: seedFiles(given).join(','),
    DELIVERY_ALLOWED_NETWORKS: given.DELIVERY_ALLOWED_NETWORKS ?? '127.0.0.2/32',
    // The applications that a developer's gate tells of a logout are on his machine.
    OUTBOUND_ALLOWED_NETWORKS: given.OUTBOUND_ALLOWED_NETWORKS ?? '127.0.0.0/8,::1/128',
    GATEPOST_HOME: home,
    AUTH_TLS_PORT: String(portOf(given, 'AUTH_TLS_PORT')),
    WEBHOOK_API_TLS_PORT: String(portOf(given, 'WEBHOOK_API_TLS_PORT')),
    TLS_CERT_FILE: certificate.cert,
    TLS_KEY_FILE: certificate.key,
    ISSUER_ALIASES: tlsIssuer(given),
  };
  // Whoever moves the gate's port wants to find it there.
  if (given.AUTH_PORT && !given.ISSUER) values.ISSUER = `http://localhost:${given.AUTH_PORT}/`;
  for (const name of sharedVariables) if (given[name]) values[name] = given[name];
  const lines = Object.entries(values).map(([name, value]) => `${name}=${quote(value)}`);
  writePrivate(servicesEnvFile(home), `# Written by npm start at every start.\n${lines.join('\n')}\n`);
  return values;
}

/** The gate's issuer at its TLS port. */
export function tlsIssuer(env: NodeJS.ProcessEnv): string {
  return env.TLS_ISSUER || `https://localhost:${portOf(env, 'AUTH_TLS_PORT')}/`;
}

/** The variables of the running system; undefined before the first `npm start`. */
export function readServicesEnv(home: string): NodeJS.Dict<string> | undefined {
  const file = servicesEnvFile(home);
  return existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : undefined;
}

/**
 * The demo's seed, and behind it the files of `SEED_FILE` as seen from where the command was typed; empty, it means no seed at all.
 */
export function seedFiles(given: NodeJS.ProcessEnv): string[] {
  if (given.SEED_FILE?.trim() === '') return [];
  return [...new Set([join(rootFolder, 'infra/demo/seed.yaml'), ...ownSeedFiles(given)])];
}

/** The services would say it too, but last, and as seen from their own folders. A misplaced value may be a secret: it is not shown. */
export function checkSeedFiles(given: NodeJS.ProcessEnv): void {
  const files = ownSeedFiles(given);
  const missing = files.flatMap((file, index) => (existsSync(file) ? [] : [index + 1]));
  if (missing.length === 0) return;
  const which = files.length === 1 ? '' : ` (number ${missing.join(', ')} of ${files.length})`;
  throw new Trouble(`SEED_FILE: there is no such file${which}, seen from ${typedIn(given)}`);
}

function ownSeedFiles(given: NodeJS.ProcessEnv): string[] {
  if (!given.SEED_FILE?.trim()) return [];
  return given.SEED_FILE.split(',').map((file) => resolve(typedIn(given), file.trim()));
}

/** npm goes to the folder of the package, and tells where it was called. */
function typedIn({ INIT_CWD: folder = process.cwd() }: NodeJS.ProcessEnv): string {
  return folder;
}

/** Where the webhook API is reached, with a trailing slash; its audience is only a name. */
export function webhookApiUrl(env: NodeJS.ProcessEnv): string {
  const given = env.WEBHOOK_API_URL?.replace(/\/*$/, '/');
  return given || `http://localhost:${portOf(env, 'WEBHOOK_API_PORT')}/`;
}

export function servicesEnvFile(home: string): string {
  return join(home, 'services.env');
}

/** Made once, and kept apart from the rest: whoever loses it cannot read the stored secrets any more. */
function secretsKey(home: string): string {
  const file = join(home, 'secrets-key');
  if (!existsSync(file)) writePrivate(file, `${randomBytes(32).toString('base64')}\n`);
  return readFileSync(file, 'utf8').trim();
}

/** In a form that Node's `--env-file` and a POSIX shell read alike. */
function quote(value: string): string {
  if (/^[\w:/.,@%+=-]*$/.test(value)) return value;
  return value.includes("'") ? `"${value}"` : `'${value}'`;
}
