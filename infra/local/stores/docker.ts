/** Stores in containers, if a Docker engine answers: the services of docker-compose.yml, with ports on 127.0.0.1. */
import { findProgram, launcher, runToEnd } from '../processes/child.ts';
import { rootFolder, shortHash } from '../processes/home.ts';
import { type Located, type PrivateOptions, recallInstance, type StoreKind } from './private.ts';

const projectOf = (home: string) => `gatepost-${shortHash(home)}`;

/**
 * `docker compose` with a home's files and project, separate from those of a plain `docker compose up`. Only if an engine answers and
 * `docker compose`, a separate program, is installed.
 */
export async function findCompose({ env, home, fresh, signal }: PrivateOptions): Promise<string[] | undefined> {
  const docker = findProgram(['docker'], env.PATH);
  if (!docker) return undefined;
  if ((await runToEnd(docker, ['compose', 'ls'], { signal, timeout: 10_000 })).code !== 0) return undefined;
  const files = ['docker-compose.yml', 'infra/local/stores/stores.compose.yml'].flatMap((file) => ['--file', file]);
  const project = ['compose', '--project-name', projectOf(home), ...files];
  // `down` also removes named volumes; `rm` would leave them.
  if (fresh) await runToEnd(docker, [...project, 'down', '--volumes'], { signal });
  return [docker, ...project];
}

/**
 * Runs until its input ends, which also happens when we are killed outright, or until SIGTERM. It always stops the container, even if
 * SIGTERM arrives while it does so; the data is kept.
 */
const upAndStop = `trap 'kill $! 2>/dev/null' TERM
"$@" up --detach --wait --no-deps $0 & wait $! && cat
trap '' TERM
"$@" stop $0`;

/** A store in a container, not yet started. Like our own servers, it ends with us. */
export async function prepareContainer(compose: string[], kind: StoreKind, options: PrivateOptions) {
  const { name, service } = kind;
  const instance = await recallInstance(options, service);
  const { port, epmdPort: managementPort, password, producerPassword } = instance;
  if (instance.isNew && service === 'postgres') await dropVolume(compose, options);
  const at = `127.0.0.1:${port}`;
  const urls: Record<StoreKind['service'], Located> = {
    postgres: { url: `postgres://gatepost:${password}@${at}/gatepost` },
    redis: { url: `redis://${at}` },
    rabbitmq: {
      url: `amqp://gatepost:${password}@${at}`,
      producerUrl: `amqp://producer:${producerPassword}@${at}`,
      managementUrl: `http://gatepost:${password}@127.0.0.1:${managementPort}`,
    },
  };
  const env = {
    ...process.env,
    [`GATEPOST_${service.toUpperCase()}_PORT`]: String(port),
    [`${service.toUpperCase()}_PASSWORD`]: password,
    RABBITMQ_PRODUCER_PASSWORD: producerPassword,
    GATEPOST_MANAGEMENT_PORT: String(managementPort),
  };
  const args = ['-c', upAndStop, service, ...compose];
  const letsIn = () => kind.letsIn(urls[service].url);
  const readyTimeoutMs = 30 * 60_000; // it may have to pull its image first
  const launch = launcher(options, { name, command: 'sh', args, env, cwd: rootFolder, letsIn, readyTimeoutMs });
  return { ...urls[service], launch };
}

/** PostgreSQL's password is in its volume: nobody knows that of what a deleted folder of the same name has left behind. */
async function dropVolume([docker = '', ...compose]: string[], { home, signal }: PrivateOptions): Promise<void> {
  await runToEnd(docker, [...compose, 'rm', '--stop', '--force', 'postgres'], { signal });
  await runToEnd(docker, ['volume', 'rm', '--force', `${projectOf(home)}_postgres`], { signal });
}
