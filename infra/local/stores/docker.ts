/** Stores in containers, where a Docker engine answers: the services of docker-compose.yml with their ports on 127.0.0.1. */
import { join } from 'node:path';
import { runToEnd } from '../processes/child.ts';
import { rootFolder, shortHash } from '../processes/home.ts';
import { findProgram } from '../processes/programs.ts';
import { endOf, Trouble } from '../processes/trouble.ts';

export type ComposeService = 'postgres' | 'redis' | 'rabbitmq';

export type Docker = {
  /** Starts the service, RabbitMQ with its management API if wanted, and waits until it is healthy. */
  up(service: ComposeService, env: Record<string, string>, management: boolean): Promise<void>;
  /** Stops it; its data stay in its volume. */
  stop(service: ComposeService): Promise<void>;
  /** Removes it with its volumes. */
  remove(service: ComposeService): Promise<void>;
};

const storeFiles = ['docker-compose.yml', 'infra/local/stores/stores.compose.yml'];

type ComposeOptions = { env?: Record<string, string>; files?: string[]; stop?: AbortSignal };

/**
 * The engine, if one answers. Containers and volumes belong to a project of this `home`, apart from those of a plain
 * `docker compose up`.
 */
export async function findDocker(home: string, signal: AbortSignal, path?: string): Promise<Docker | undefined> {
  const program = findProgram(['docker'], path);
  if (!program) return undefined;
  const timeout = AbortSignal.timeout(10_000);
  const { code } = await runToEnd(program, ['info', '--format', '{{.ServerVersion}}'], {
    signal: AbortSignal.any([signal, timeout]),
  }).catch((error) => {
    if (signal.aborted) throw error;
    return { code: 1 }; // an engine that does not answer is none
  });
  if (code !== 0) return undefined;

  const compose = async (args: string[], { env = {}, files = storeFiles, stop }: ComposeOptions = {}) => {
    const fileArgs = files.flatMap((file) => ['--file', join(rootFolder, file)]);
    const projectArgs = ['--project-name', `gatepost-${shortHash(home)}`];
    const result = await runToEnd(program, ['compose', ...projectArgs, ...fileArgs, ...args], {
      cwd: rootFolder,
      env: { ...process.env, ...env },
      ...(stop ? { signal: stop } : {}),
    });
    if (result.code === 0) return;
    throw new Trouble(`docker compose ${args.join(' ')} failed:`, ...endOf(result.output));
  };
  return {
    up: (service, env, management) =>
      compose(['up', '--detach', '--wait', '--no-deps', service], {
        env,
        files: management ? [...storeFiles, 'infra/local/stores/management.compose.yml'] : storeFiles,
        stop: signal,
      }),
    stop: (service) => compose(['stop', service]),
    remove: (service) => compose(['rm', '--stop', '--force', '--volumes', service]),
  };
}
