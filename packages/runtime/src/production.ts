/**
 * Settings that are unsafe in production: with NODE_ENV=production a service refuses to start with them. The images set it; the Compose demo
 * and `npm start` do not.
 */

import { decoded, splitUrls } from './urls.ts';

/** Variables of ours that a service may read. */
type Known = Partial<Record<'NODE_ENV' | 'HOST' | 'ISSUER' | (typeof storeVariables)[number], unknown>>;

const storeVariables = [
  'DATABASE_URL',
  'AUTH_DATABASE_URL',
  'WEBHOOK_DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'AUTH_DATABASE_DIRECT_URL',
  'WEBHOOK_DATABASE_DIRECT_URL',
  'WEBHOOK_READ_DATABASE_URL',
  'REDIS_URL',
  'AMQP_URL',
] as const;

/** Lines for `Misconfigured`; none outside production. They contain no secret, not even a default one. */
export function productionProblems(env: Known): string[] {
  if (env.NODE_ENV !== 'production') return [];
  const problems: string[] = [];
  if (typeof env.ISSUER === 'string' && isPlainAndRemote(new URL(env.ISSUER)))
    problems.push(
      'ISSUER: must be https in production, unless its host is loopback; everybody on the way reads tokens otherwise',
    );
  if (typeof env.HOST === 'string' && !isLoopback(env.HOST))
    for (const name of storeVariables) {
      const url = env[name];
      if (typeof url === 'string' && splitUrls(url).some((one) => hasDefaultPassword(new URL(one))))
        problems.push(
          `${name}: has a password that everybody knows, and HOST is open to others; give the store one of its own`,
        );
    }
  return problems;
}

function isPlainAndRemote({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !isLoopback(hostname);
}

/** Takes a name or address, in the form of `URL.hostname` or HOST. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

// The default passwords of the stores’ images, of their documentation and of our Compose demo.
const defaults = new Set([
  'admin',
  'changeme',
  'default',
  'example',
  'foobared',
  'gatepost',
  'guest',
  'mysecretpassword',
  'pass',
  'password',
  'postgres',
  'rabbitmq',
  'redis',
  'root',
  'secret',
  'user',
]);

/** Also catches a password equal to the user name, and RabbitMQ's `guest`, which an AMQP URL without a user means. */
function hasDefaultPassword({ protocol, username, password, searchParams }: URL): boolean {
  const given = decoded(password) || searchParams.get('password') || '';
  if (given === '') return /^amqps?:$/.test(protocol) && username === '';
  return defaults.has(given.toLowerCase()) || given === decoded(username);
}
