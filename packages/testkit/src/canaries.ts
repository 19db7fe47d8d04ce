/** Values containing a secret, as operators mistype them, to check that a service never prints the secret. */
import { spawn } from 'node:child_process';
import { inherited } from './system.ts';

export const canary = 'hunter2-canary';
const canaryKey = Buffer.from(canary.padEnd(32)).toString('base64');

/** An environment that any service accepts, with the canary wherever a secret may be. Nothing listens at its addresses. */
export const canaryEnv: Record<string, string> = {
  DATABASE_URL: `postgres://gate:${canary}@127.0.0.1:1/gate?password=${canary}`,
  REDIS_URL: `redis://:${canary}@127.0.0.1:1/?password=${canary}`,
  AMQP_URL: `amqp://gate:${canary}@127.0.0.1:1/?password=${canary}`,
  SECRETS_KEY: canaryKey,
};

const schemes = ['postgres', 'redis', 'amqp', 'smtp', 'http', 'https', 'file'];

/** URLs and connection strings with the canary wherever a secret may be, parsable and not. */
const canaryValues: string[] = [
  ...schemes.flatMap((scheme) => [
    `${scheme}://user:${canary}@127.0.0.1:1/`,
    `${scheme}://${canary}@127.0.0.1:1/`, // a token in place of the name
    `${scheme}://:${canary}@127.0.0.1:1/`,
    `${scheme}://127.0.0.1:1/?password=${canary}`,
    `${scheme}://127.0.0.1:1/?sslmode=${canary}&${canary}`,
    `${scheme}://127.0.0.1:1/?auth=${canary}#${canary}`,
    // Unencoded passwords.
    `${scheme}://user:${canary}@more@127.0.0.1:1/`,
    `${scheme}://user:47/${canary}@127.0.0.1:1/`,
    `${scheme}://user:a#${canary}@127.0.0.1:1/`,
    `${scheme}://user?${canary}@127.0.0.1:1/`,
    `${scheme}://user:${canary}@127.0.0.1:99999/`,
    `${scheme}://user:${canary}@[::1/`,
    `${scheme}://user:${canary}`,
    `${scheme}:user:${canary}@127.0.0.1:1/`,
    `${scheme}:/user:${canary}@127.0.0.1:1/`,
    `x ${scheme}://user:${canary}@127.0.0.1:1/`,
    ` ${scheme}://user:${canary}@127.0.0.1:1/\n`,
    `127.0.0.1/32, ${scheme}://user:${canary}@127.0.0.1:1/`,
  ]),
  `user:${canary}@127.0.0.1:1`,
  `host=127.0.0.1 user=gate password=${canary}`,
  `SECRETS_KEY=${canary}`,
];

type Env = Record<string, string>;

/**
 * The values of the variable `name` for which a service reveals the secret; none, if all is well.
 * @param describe what the service says of an environment that it accepts; throws `Misconfigured` otherwise
 * @param isSecret whether the whole value is. A secret that stands there alone can't be known for one where any text is right, but nowhere else.
 */
export function toldOf(name: string, describe: (env: Env) => string, isSecret: boolean): string[] {
  const said = (value: string): { accepted: boolean; text: string } => {
    try {
      return { accepted: true, text: describe({ ...canaryEnv, [name]: value }) };
    } catch (error) {
      if (!(error instanceof Error && error.name === 'Misconfigured')) throw error;
      return { accepted: false, text: error.message };
    }
  };
  const told = canaryValues.filter((value) => reveals(said(value).text));
  const { accepted, text } = said(canary);
  return (!accepted || isSecret) && text.includes(canary) ? [...told, canary] : told;
}

export const reveals = (text: string): boolean => text.includes(canary) || text.includes(canaryKey);

/** What a service writes when it refuses these variables, and when it starts and finds no store. */
export async function outputsOf(main: string, names: string[], more: Env = {}) {
  const bad = Object.fromEntries(names.map((name) => [name, `postgres://gate:${canary}@[/`]));
  return {
    refused: await outputOf(main, bad, /$^/),
    started: await outputOf(main, { ...canaryEnv, LOG_LEVEL: 'debug', ...more }, /ECONNREFUSED/),
  };
}

/** A program's whole output until it ends or has written `enough`. It is then killed. */
export async function outputOf(main: string, env: Env, enough: RegExp): Promise<string> {
  const child = spawn(process.execPath, ['--conditions=source', main], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (enough.test(output)) child.kill('SIGKILL');
    });
  await new Promise((resolve) => child.once('close', resolve));
  return output;
}
