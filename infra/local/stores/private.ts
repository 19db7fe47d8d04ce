/** What the three kinds of stores have in common. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import type { Context } from '../commands/command.ts';
import type { Child } from '../processes/child.ts';
import { writePrivate } from '../processes/home.ts';
import { answers, holderOf } from '../processes/ports.ts';
import { Trouble } from '../processes/trouble.ts';

/** What we know about a kind of store. */
export type StoreKind = {
  name: 'RabbitMQ' | 'PostgreSQL' | 'Redis';
  /** The variable that holds its URL. */
  variable: 'AMQP_URL' | 'DATABASE_URL' | 'REDIS_URL';
  /** In docker-compose.yml, and the name of its folder. */
  service: 'rabbitmq' | 'postgres' | 'redis';
  /** In Debian. */
  package: string;
  /** Names or paths of its server, best first. */
  programs(): string[];
  /** URLs where one on this machine may let us in. */
  usual(env: NodeJS.ProcessEnv, port?: number): string[];
  /** @param make creates a missing database */
  letsIn(url: string, make?: boolean): Promise<boolean>;
  /** A private instance under `<home>/<service>`, not yet started. */
  prepare(program: string, options: PrivateOptions): Promise<PrivateStore>;
  /** Drops only our data: others may use the store too. */
  drop(url: string, env: NodeJS.ProcessEnv): Promise<void>;
};

/** How to run the stores that we start. `home` holds a folder for each, and `logs`. */
export type PrivateOptions = Omit<Context, 'args'> & {
  /** None that others may use. */
  own?: boolean;
  /** Drops their data first. Ports and passwords stay, because producers and people have the URLs. */
  fresh?: boolean;
  /** The data is not needed after this command: it may be lost, or kept in memory. RabbitMQ gets its management API, to make vhosts. */
  forTests?: boolean;
};

/** A store's URLs. */
export type Located = {
  url: string;
  /** RabbitMQ's for producers, who may only write to the exchange. */
  producerUrl?: string;
  managementUrl?: string;
};

/** `launch` starts the server and waits until it lets us in. Can be called again after it died. */
export type PrivateStore = Located & { launch(): Promise<Child> };

/**
 * What an instance keeps across starts, made at its first, and its folder. `epmdPort` is that of RabbitMQ's name service, or in a container
 * of its management API. Waits for the server of a command that was killed outright: RabbitMQ takes seconds to stop, and longer when busy.
 */
export async function recallInstance({ home, fresh, signal }: PrivateOptions, service: StoreKind['service']) {
  const folder = join(home, service);
  const file = join(folder, 'instance.json');
  const [port = 0, epmdPort = 0] = await freePorts(2);
  const made = { port, epmdPort, password: makePassword(), producerPassword: makePassword() };
  const isNew = !existsSync(folder);
  const instance: typeof made = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : made;
  for (const port of [instance.port, instance.epmdPort])
    await until(`port ${port}`, async () => !(await answers(port)), 60_000, signal).catch(async () => {
      throw new Trouble(
        `Port ${port} of a private store is taken by ${await holderOf(port)}.`,
        'Stop the command that runs with the same folder, or take another with GATEPOST_HOME.',
      );
    });
  if (fresh) rmSync(folder, { recursive: true, force: true });
  writePrivate(file, JSON.stringify(instance, undefined, 2));
  return { ...instance, folder, isNew };
}

/** Only letters and digits: valid in any URL or configuration file. */
export const makePassword = () => randomBytes(24).toString('hex');
