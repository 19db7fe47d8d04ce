/** Values containing a secret, as operators mistype them, to check that a service never prints the secret. */
import { spawn } from 'node:child_process';
import { inherited } from './system.ts';

export const canary = 'hunter2-canary';
export const canaryKey = Buffer.from(canary.padEnd(32)).toString('base64');

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

/** The values of the variable `name` for which `said` reveals the secret; none, if all is well. */
export function toldOf(name: string, said: (env: Record<string, string>) => string): string[] {
  return canaryValues.filter((value) => {
    const text = said({ ...canaryEnv, [name]: value });
    return text.includes(canary) || text.includes(canaryKey);
  });
}

/** A program's whole output until it ends or has written `enough`. It is then killed. */
export async function outputOf(main: string, env: Record<string, string>, enough: RegExp): Promise<string> {
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
