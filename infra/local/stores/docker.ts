/** Stores in containers, where a Docker engine answers: the services of docker-compose.yml with their ports on 127.0.0.1. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { runToEnd } from '../processes/child.ts';
import { readJson, rootFolder, shortHash, writePrivate } from '../processes/home.ts';
import { freePort } from '../processes/ports.ts';
import { findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';
import { type Address, makePassword, type PrivateOptions } from './private.ts';

export type ComposeService = 'postgres' | 'redis' | 'rabbitmq';

export type Docker = {
  /** Runs `docker compose` with these arguments. @throws Trouble with what it said. */
  compose(args: string[], env?: Record<string, string>, signal?: AbortSignal): Promise<void>;
  /** Runs it when the returned thing is closed, or when we are gone, however that came about. */
  atTheEnd(args: string[]): AsyncDisposable;
};

/**
 * The engine, if one answers; `without compose` if it does, but not to `docker compose`, which is a program of its own. Containers and
 * volumes belong to a project of this `home`, apart from those of a plain `docker compose up`.
 */
export async function findDocker(
  home: string,
  signal: AbortSignal,
  path?: string,
): Promise<Docker | 'without compose' | undefined> {
  const program = findProgram(['docker'], path);
  if (!program) return undefined;
  const answers = async (...args: string[]) =>
    (await runToEnd(program, args, { signal, deadlineMs: 10_000 })).code === 0;
  if (!(await answers('info', '--format', '{{.ServerVersion}}'))) return undefined;
  if (!(await answers('compose', 'version'))) return 'without compose';
  const projectArgs = (env: Record<string, string> = {}) => {
    const files = ['docker-compose.yml', 'infra/local/stores/stores.compose.yml'];
    if (env.GATEPOST_MANAGEMENT_PORT) files.push('infra/local/stores/management.compose.yml');
    return ['compose', '--project-name', `gatepost-${shortHash(home)}`, ...files.flatMap((file) => ['--file', file])];
  };
  return {
    async compose(args, env = {}, stop) {
      const options = { env: { ...process.env, ...env }, ...(stop ? { signal: stop } : {}) };
      const { code, output } = await runToEnd(program, [...projectArgs(env), ...args], options);
      if (code !== 0) throw new Trouble(`docker compose ${args.join(' ')} failed:`, ...endOf(output));
    },
    atTheEnd: (args) => {
      // Its input ends when we close it, and with us: also when we are killed outright, which tells nobody else.
      const waiting = ['-c', 'cat; exec "$@"', 'sh', program, ...projectArgs(), ...args];
      const child = spawn('sh', waiting, { cwd: rootFolder, detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
      child.unref();
      child.stdin.on('error', () => {}); // it has ended before us
      const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()));
      return {
        async [Symbol.asyncDispose]() {
          child.stdin.end();
          await exited;
        },
      };
    },
  };
}

type Remembered = { port: number; managementPort: number; password: string; producerPassword: string };

/** Brings one store up in its container and gives its URL once it lets us in. Closing it stops the container; its data stay. */
export async function startContainer(
  docker: Docker,
  service: ComposeService,
  { home, management, signal }: Pick<PrivateOptions, 'home' | 'management' | 'signal'>,
  letsIn: (url: string) => Promise<boolean>,
): Promise<AsyncDisposable & Address> {
  const file = rememberedIn(home, service);
  const known = readJson<Partial<Remembered>>(file);
  // While its container runs, the port is taken by the very thing that we want.
  await docker.compose(['stop', service]).catch(() => {});
  const { port, managementPort, password, producerPassword } = {
    password: known?.password ?? makePassword(),
    producerPassword: known?.producerPassword ?? makePassword(),
    port: await freePort(known?.port),
    managementPort: await freePort(known?.managementPort),
  } satisfies Remembered;
  writePrivate(file, JSON.stringify({ port, managementPort, password, producerPassword }));
  const upper = service.toUpperCase();
  const env = {
    [`GATEPOST_${upper}_PORT`]: String(port),
    [`${upper}_PASSWORD`]: password,
    RABBITMQ_PRODUCER_PASSWORD: producerPassword,
    ...(management ? { GATEPOST_MANAGEMENT_PORT: String(managementPort) } : {}),
  };
  const at = `127.0.0.1:${port}`;
  const addresses: Record<ComposeService, Address> = {
    postgres: { url: `postgres://gatepost:${password}@${at}/gatepost` },
    redis: { url: `redis://${at}` },
    rabbitmq: {
      url: `amqp://gatepost:${password}@${at}`,
      producerUrl: `amqp://producer:${producerPassword}@${at}`,
      ...(management ? { managementUrl: `http://gatepost:${password}@127.0.0.1:${managementPort}` } : {}),
    },
  };
  const address = addresses[service];
  const running = docker.atTheEnd(['stop', service]);
  try {
    await docker.compose(['up', '--detach', '--wait', '--no-deps', service], env, signal);
    if (!(await waitFor(async () => (await letsIn(address.url)) || undefined, 30_000, signal)))
      throw new Error(`the container of ${service} is up, but does not let us in at ${at}`);
  } catch (error) {
    await running[Symbol.asyncDispose]();
    throw error;
  }
  return { ...address, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

/** Removes the containers of this home with their volumes: `down` does, `rm` would leave the volumes that have a name. */
export async function removeContainers(docker: Awaited<ReturnType<typeof findDocker>>): Promise<void> {
  if (docker && docker !== 'without compose') await docker.compose(['down', '--volumes']);
}

/** What stays the same from start to start, so that the volume still fits. */
export function rememberedIn(home: string, service: ComposeService): string {
  return join(home, 'containers', `${service}.json`);
}
