/** Stores in containers, where a Docker engine answers: the services of docker-compose.yml with their ports on 127.0.0.1. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { runToEnd } from '../processes/child.ts';
import { readJson, rootFolder, shortHash, writePrivate } from '../processes/home.ts';
import { freePort } from '../processes/ports.ts';
import { findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';
import { type Address, makePassword, type StoreKind } from './private.ts';

export type Docker = {
  /** Runs `docker compose` with these arguments. @throws Trouble with what it said. */
  compose(args: string[], env?: Record<string, string>, signal?: AbortSignal): Promise<void>;
  /** Runs it when the returned thing is closed, or when we are gone, however that came about. */
  atTheEnd(args: string[]): AsyncDisposable;
};

/**
 * The engine, if one answers and there is `docker compose`, which is a program of its own. Containers and volumes belong to a project
 * of this `home`, apart from those of a plain `docker compose up`.
 */
export async function findDocker(home: string, signal: AbortSignal, path?: string): Promise<Docker | undefined> {
  const program = findProgram(['docker'], path);
  if (!program) return undefined;
  for (const args of [['info'], ['compose', 'version']])
    if ((await runToEnd(program, args, { signal, deadlineMs: 10_000 })).code !== 0) return undefined;
  const files = ['docker-compose.yml', 'infra/local/stores/stores.compose.yml'].flatMap((file) => ['--file', file]);
  const project = ['compose', '--project-name', `gatepost-${shortHash(home)}`, ...files];
  return {
    async compose(args, env, stop) {
      const options = { env: { ...process.env, ...env }, ...(stop ? { signal: stop } : {}) };
      const { code, output } = await runToEnd(program, [...project, ...args], options);
      if (code !== 0) throw new Trouble(`docker compose ${args.join(' ')} failed:`, ...endOf(output));
    },
    atTheEnd(args) {
      // Its input ends when we close it, and with us: also when we are killed outright, which tells nobody else.
      const waiting = ['-c', 'cat; exec "$@"', 'sh', program, ...project, ...args];
      const child = spawn('sh', waiting, { cwd: rootFolder, detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
      child.unref();
      child.stdin.on('error', () => {}); // it has ended before us
      const exited = once(child, 'exit');
      return {
        async [Symbol.asyncDispose]() {
          child.stdin.end();
          await exited;
        },
      };
    },
  };
}

type Remembered = { port: number; password: string; producerPassword: string };

/** Brings one store up in its container and gives its URL once it lets us in. Closing it stops the container; its data stay. */
export async function startContainer(
  docker: Docker,
  { service, letsIn }: Pick<StoreKind, 'service' | 'letsIn'>,
  home: string,
  signal: AbortSignal,
): Promise<AsyncDisposable & Address> {
  // What stays the same from start to start, so that the volume still fits.
  const file = rememberedIn(home, service);
  const known = readJson<Remembered>(file);
  // While its container runs, the port is taken by the very thing that we want.
  await docker.compose(['stop', service]).catch(() => {});
  const password = known?.password ?? makePassword();
  const producerPassword = known?.producerPassword ?? makePassword();
  const [port, managementPort] = [await freePort(known?.port), await freePort()];
  writePrivate(file, JSON.stringify({ port, password, producerPassword } satisfies Remembered));
  const upper = service.toUpperCase();
  const env = {
    [`GATEPOST_${upper}_PORT`]: String(port),
    [`${upper}_PASSWORD`]: password,
    RABBITMQ_PRODUCER_PASSWORD: producerPassword,
    GATEPOST_MANAGEMENT_PORT: String(managementPort),
  };
  const at = `127.0.0.1:${port}`;
  const address: Address = {
    postgres: { url: `postgres://gatepost:${password}@${at}/gatepost` },
    redis: { url: `redis://${at}` },
    rabbitmq: {
      url: `amqp://gatepost:${password}@${at}`,
      producerUrl: `amqp://producer:${producerPassword}@${at}`,
      managementUrl: `http://gatepost:${password}@127.0.0.1:${managementPort}`,
    },
  }[service];
  await using stack = new AsyncDisposableStack();
  stack.use(docker.atTheEnd(['stop', service]));
  await docker.compose(['up', '--detach', '--wait', '--no-deps', service], env, signal);
  if (!(await waitFor(async () => (await letsIn(address.url)) || undefined, 30_000, signal)))
    throw new Trouble(`the container of ${service} is up, but does not let us in at ${at}`);
  const running = stack.move();
  return { ...address, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Of a store that has run in a container of this home. */
export function rememberedIn(home: string, service: StoreKind['service']): string {
  return join(home, 'containers', `${service}.json`);
}
