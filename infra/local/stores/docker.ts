/** Stores in containers, where a Docker engine answers: the services of docker-compose.yml with their ports on 127.0.0.1. */
import { join } from 'node:path';
import { runToEnd } from '../processes/child.ts';
import { readJson, shortHash, writePrivate } from '../processes/home.ts';
import { freePort } from '../processes/ports.ts';
import { findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';
import { waitFor } from '../processes/wait.ts';
import { type Address, makePassword, type PrivateOptions } from './private.ts';

export type ComposeService = 'postgres' | 'redis' | 'rabbitmq';

/** Runs `docker compose` with these arguments. @throws Trouble with what it said. */
export type Docker = (args: string[], env?: Record<string, string>, signal?: AbortSignal) => Promise<void>;

/**
 * The engine, if one answers. Containers and volumes belong to a project of this `home`, apart from those of a plain
 * `docker compose up`.
 */
export async function findDocker(home: string, signal: AbortSignal, path?: string): Promise<Docker | undefined> {
  const program = findProgram(['docker'], path);
  if (!program) return undefined;
  const { code } = await runToEnd(program, ['info', '--format', '{{.ServerVersion}}'], { signal, deadlineMs: 10_000 });
  if (code !== 0) return undefined;
  return async (args, env = {}, stop) => {
    const files = ['docker-compose.yml', 'infra/local/stores/stores.compose.yml'];
    if (env.GATEPOST_MANAGEMENT_PORT) files.push('infra/local/stores/management.compose.yml');
    const project = ['--project-name', `gatepost-${shortHash(home)}`, ...files.flatMap((file) => ['--file', file])];
    const options = { env: { ...process.env, ...env }, ...(stop ? { signal: stop } : {}) };
    const { code: status, output } = await runToEnd(program, ['compose', ...project, ...args], options);
    if (status !== 0) throw new Trouble(`docker compose ${args.join(' ')} failed:`, ...endOf(output));
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
  const stop = () => docker(['stop', service]);
  // While its container runs, the port is taken by the very thing that we want.
  await stop().catch(() => {});
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
  try {
    await docker(['up', '--detach', '--wait', '--no-deps', service], env, signal);
    if (!(await waitFor(async () => (await letsIn(address.url)) || undefined, 30_000, signal)))
      throw new Error(`the container of ${service} is up, but does not let us in at ${at}`);
  } catch (error) {
    await stop().catch(() => {}); // it may not even exist
    throw error;
  }
  return { ...address, [Symbol.asyncDispose]: stop };
}

/** Removes the containers of this home with their volumes: `down` does, `rm` would leave the volumes that have a name. */
export async function removeContainers(docker: Docker | undefined): Promise<void> {
  await docker?.(['down', '--volumes']);
}

/** What stays the same from start to start, so that the volume still fits. */
export function rememberedIn(home: string, service: ComposeService): string {
  return join(home, 'containers', `${service}.json`);
}
