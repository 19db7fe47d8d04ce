/** The stores as containers: which URL each has, and what is remembered of them from start to start. */
import { join } from 'node:path';
import { readJson, writePrivate } from '../processes/home.ts';
import { freePort } from '../processes/ports.ts';
import { waitFor } from '../processes/wait.ts';
import type { ComposeService, Docker } from './docker.ts';
import { makePassword, type PrivateOptions } from './private.ts';

type Remembered = { port: number; managementPort: number; password: string; producerPassword?: string };

type Container = AsyncDisposable & { url: string; producerUrl?: string; managementUrl?: string };

/** Brings one store up in its container and gives its URL once it lets us in. Closing it stops the container. */
export async function startContainer(
  docker: Docker,
  service: ComposeService,
  { home, management, signal }: Pick<PrivateOptions, 'home' | 'management' | 'signal'>,
  letsIn: (url: string) => Promise<boolean>,
): Promise<Container> {
  const file = join(home, 'containers', `${service}.json`);
  const known = readJson<Remembered>(file);
  const password = known?.password ?? makePassword();
  const producerPassword = known?.producerPassword ?? makePassword();
  const upper = service.toUpperCase();
  // While its container runs, the port is taken by the very thing that we want.
  await docker.stop(service).catch(() => {});
  const port = await freePort(known?.port);
  const managementPort = await freePort(known?.managementPort);
  writePrivate(file, JSON.stringify({ port, managementPort, password, producerPassword } satisfies Remembered));
  const stop = { [Symbol.asyncDispose]: () => docker.stop(service) };
  try {
    await docker.up(
      service,
      {
        [`GATEPOST_${upper}_PORT`]: String(port),
        [`${upper}_PASSWORD`]: password,
        RABBITMQ_PRODUCER_PASSWORD: producerPassword,
        GATEPOST_MANAGEMENT_PORT: String(managementPort),
      },
      management,
    );
    const url = urls[service](port, password);
    const open = await waitFor(async () => ((await letsIn(url)) ? true : undefined), 30_000, signal);
    if (!open) throw new Error(`the container of ${service} is up, but does not let us in at 127.0.0.1:${port}`);
    if (service !== 'rabbitmq') return { url, ...stop };
    const producerUrl = `amqp://producer:${producerPassword}@127.0.0.1:${port}`;
    if (!management) return { url, producerUrl, ...stop };
    return { url, producerUrl, managementUrl: `http://gatepost:${password}@127.0.0.1:${managementPort}`, ...stop };
  } catch (error) {
    await docker.stop(service).catch(() => {}); // it may not even exist
    throw error;
  }
}

const urls: Record<ComposeService, (port: number, password: string) => string> = {
  postgres: (port, password) => `postgres://gatepost:${password}@127.0.0.1:${port}/gatepost`,
  redis: (port) => `redis://127.0.0.1:${port}`,
  rabbitmq: (port, password) => `amqp://gatepost:${password}@127.0.0.1:${port}`,
};
