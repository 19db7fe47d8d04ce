/**
 * Where PostgreSQL, Redis and RabbitMQ come from. Each is looked for on its own, and the first that there is, is taken:
 *
 *   1. its URL in the environment
 *   2. something on its default local port that lets us in
 *   3. its installed server program: a private instance under `.gatepost/`, on a free port
 *   4. a Docker engine: the service of docker-compose.yml
 *   5. the distribution's package, on Debian and Ubuntu as root: installed, then as 3
 *
 * RabbitMQ comes first in every list: it takes longest to start.
 */
import { maskUrl } from '@gatepost/runtime/mask';
import type { Child } from '../processes/child.ts';
import { Trouble } from '../processes/trouble.ts';
import { findInstaller, type Installer } from './debian.ts';
import { type ComposeService, type Docker, findDocker, startContainer } from './docker.ts';
import * as postgres from './postgres.ts';
import type { Address, PrivateOptions, PrivateStore } from './private.ts';
import * as rabbitmq from './rabbitmq.ts';
import * as redis from './redis.ts';

export type StoreName = 'RabbitMQ' | 'PostgreSQL' | 'Redis';

/** What is known of one kind of store. */
export type StoreKind = {
  name: StoreName;
  /** The variable that holds its URL. */
  variable: 'AMQP_URL' | 'DATABASE_URL' | 'REDIS_URL';
  /** The URL of what answers on the default local port. */
  probe(env: NodeJS.ProcessEnv): Promise<string | undefined>;
  letsIn(url: string): Promise<boolean>;
  find(path?: string): string | undefined;
  prepare(program: string, options: PrivateOptions): Promise<PrivateStore>;
  service: ComposeService;
  package: string;
};

export const storeKinds: StoreKind[] = [
  {
    name: 'RabbitMQ',
    variable: 'AMQP_URL',
    probe: () => rabbitmq.probeRabbitmq(),
    letsIn: rabbitmq.letsIn,
    find: rabbitmq.findRabbitmq,
    prepare: rabbitmq.prepareRabbitmq,
    service: 'rabbitmq',
    package: 'rabbitmq-server',
  },
  {
    name: 'PostgreSQL',
    variable: 'DATABASE_URL',
    probe: (env) => postgres.probePostgres(env),
    letsIn: postgres.letsIn,
    find: postgres.findPostgres,
    prepare: postgres.preparePostgres,
    service: 'postgres',
    package: 'postgresql',
  },
  {
    name: 'Redis',
    variable: 'REDIS_URL',
    probe: () => redis.probeRedis(),
    letsIn: redis.letsIn,
    find: redis.findRedis,
    prepare: redis.prepareRedis,
    service: 'redis',
    package: 'redis-server',
  },
];

/** The URL that the environment gives; the databases of both sides do for one that serves both. */
export function givenUrl({ variable }: StoreKind, env: NodeJS.ProcessEnv): string | undefined {
  if (env[variable]) return env[variable];
  return (variable === 'DATABASE_URL' && env.WEBHOOK_DATABASE_URL && env.AUTH_DATABASE_URL) || undefined;
}

/** Where one store will come from. */
export type Source =
  | { kind: 'given'; url: string }
  | { kind: 'answers'; url: string }
  | { kind: 'private'; program: string }
  | { kind: 'container'; docker: Docker }
  | { kind: 'package'; install: Installer }
  | { kind: 'missing' };

/** What the machine offers beyond the stores themselves. */
export type Machine = {
  env: NodeJS.ProcessEnv;
  docker(): ReturnType<typeof findDocker>;
  installer(): Promise<Installer | undefined>;
};

/** Each is asked for only when it is needed, and once. */
export function openMachine(env: NodeJS.ProcessEnv, home: string, signal: AbortSignal): Machine {
  let docker: ReturnType<Machine['docker']> | undefined;
  let installer: ReturnType<Machine['installer']> | undefined;
  return {
    env,
    docker: () => (docker ??= findDocker(home, signal, env.PATH)),
    installer: () => (installer ??= findInstaller(signal, env.PATH)),
  };
}

/** `own`: only what nobody else uses; the search begins at 3. */
export type Wanted = 'any' | 'own';

/** The order above. */
export async function findSource(kind: StoreKind, machine: Machine, wanted: Wanted = 'any'): Promise<Source> {
  if (wanted === 'any') {
    const given = givenUrl(kind, machine.env);
    if (given) return { kind: 'given', url: given };
    const url = await kind.probe(machine.env);
    if (url) return { kind: 'answers', url };
  }
  const program = kind.find(machine.env.PATH);
  if (program) return { kind: 'private', program };
  const docker = await machine.docker();
  if (docker && docker !== 'without compose') return { kind: 'container', docker };
  const install = await machine.installer();
  if (install) return { kind: 'package', install };
  return { kind: 'missing' };
}

/** A store whose address is known. */
export type Store = Address & {
  name: StoreName;
  /** Resolves when it lets us in; with its process, if that is ours. */
  ready: Promise<Child | undefined>;
  /** Starts it again; only of private instances. */
  launch?: PrivateStore['launch'];
};

/** Finds the source of each store. @throws Trouble, in two lines, naming all that there is no source for. */
export async function findSources(
  machine: Machine,
  wanted: Wanted = 'any',
  kinds = storeKinds,
): Promise<Map<StoreKind, Source>> {
  const sources = new Map(
    await Promise.all(kinds.map(async (kind) => [kind, await findSource(kind, machine, wanted)] as const)),
  );
  const missing = kinds.filter((kind) => sources.get(kind)?.kind === 'missing');
  if (missing.length === 0) return sources;
  const names = missing.map((kind) => kind.name).join(', ');
  const docker =
    (await machine.docker()) === 'without compose'
      ? 'or install `docker compose`, which the Docker engine here lacks'
      : 'or start a Docker engine';
  throw new Trouble(
    `Missing: ${names}. Install them (Debian, Ubuntu: sudo apt-get install ${missing.map((kind) => kind.package).join(' ')}), ${docker},`,
    `or set ${missing.map((kind) => kind.variable).join(', ')} to servers that run elsewhere.`,
  );
}

/**
 * Brings one store up, as a step that is shown. Resolves as soon as its address is known: a private instance may still be
 * starting then. @throws Trouble saying what to do.
 */
export async function bringUp(kind: StoreKind, source: Source, options: PrivateOptions): Promise<Store> {
  const known = Promise.withResolvers<Store>();
  let where = '';
  const work = async (note: (doing: string) => void) => {
    const { launch, ...address } = await locate(kind, source, options, note);
    where = new URL(address.url).host || 'the given URL';
    known.resolve({ name: kind.name, ready, ...address, ...(launch ? { launch } : {}) });
    return launch?.();
  };
  const ready = options.say.step(kind.name, () => `${foundHow[source.kind]} ${where}`, work);
  ready.catch(known.reject);
  return known.promise;
}

const foundHow: Record<Source['kind'], string> = {
  given: 'given, at',
  answers: 'found running at',
  container: 'in a container, at',
  package: 'a private instance at',
  private: 'a private instance at',
  missing: '',
};

export function urlsOf(stores: Store[]): Record<StoreName, string> {
  return Object.fromEntries(stores.map((store) => [store.name, store.url])) as Record<StoreName, string>; // one of each
}

async function locate(
  kind: StoreKind,
  source: Source,
  options: PrivateOptions,
  note: (doing: string) => void,
): Promise<Address & { launch?: PrivateStore['launch'] }> {
  switch (source.kind) {
    case 'given':
      if (await kind.letsIn(source.url)) return { url: source.url };
      throw new Trouble(
        `${kind.variable} is set, but ${kind.name} does not let us in at ${maskUrl(source.url)}.`,
        `Start it, mend ${kind.variable}, or unset it to have one started here.`,
      );
    case 'answers':
      return { url: source.url };
    case 'container':
      note('starting its container');
      return options.group.use(await startContainer(source.docker, kind.service, options, kind.letsIn));
    case 'package': {
      await source.install(kind.package, note);
      note('');
      const program = kind.find();
      if (program) return kind.prepare(program, options);
      throw new Trouble(`The package ${kind.package} is installed, but holds no server of ${kind.name}.`);
    }
    case 'private':
      return kind.prepare(source.program, options);
    case 'missing':
      throw new Trouble(`Missing: ${kind.name}.`);
  }
}
