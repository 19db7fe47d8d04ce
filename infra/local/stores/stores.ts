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
import { findProgram } from '../processes/programs.ts';
import { Trouble } from '../processes/trouble.ts';
import { findInstaller } from './debian.ts';
import { findCompose, startContainer } from './docker.ts';
import { postgres } from './postgres.ts';
import type { Located, PrivateOptions, StoreKind } from './private.ts';
import { rabbitmq } from './rabbitmq.ts';
import { redis } from './redis.ts';

export const storeKinds: StoreKind[] = [rabbitmq, postgres, redis];

/** What the machine offers beyond the stores themselves; each is asked for only when it is needed, and once. */
export function openMachine(env: NodeJS.ProcessEnv, options: Parameters<typeof findCompose>[0]) {
  const compose = once(() => findCompose(options, env.PATH));
  return { env, compose, installer: once(() => findInstaller(options.signal, env.PATH)) };
}

export type Machine = ReturnType<typeof openMachine>;

function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => (found ??= find());
}

/** Where one store will come from. */
export type Source = {
  kind: StoreKind;
  how: 'given, at' | 'found running at' | 'a private instance at' | 'in a container, at';
  /** Others may use it too. */
  isShared: boolean;
  /** Makes its address known. @throws Trouble saying what to do. */
  locate(options: PrivateOptions, note: (doing: string) => void): Promise<Located>;
};

/** The order above; `own`: only what nobody else uses, the search begins at 3. Undefined if there is none. */
export async function findSource(kind: StoreKind, machine: Machine, own = false): Promise<Source | undefined> {
  const { env } = machine;
  const given = own ? undefined : givenUrl(kind, env);
  if (given) return { kind, how: 'given, at', isShared: true, locate: () => refuseOrTake(kind, given) };
  for (const url of own ? [] : kind.usual(env))
    if (await kind.letsIn(url, true))
      return { kind, how: 'found running at', isShared: true, locate: async () => ({ url }) };
  const alone = { kind, how: 'a private instance at', isShared: false } as const;
  const program = findProgram(kind.programs(), env.PATH);
  if (program) return { ...alone, locate: (options) => kind.prepare(program, options) };
  const compose = await machine.compose();
  if (compose)
    return { ...alone, how: 'in a container, at', locate: (options) => startContainer(compose, kind, options) };
  const install = await machine.installer();
  return (
    install && {
      ...alone,
      async locate(options, note) {
        await install(kind.package, note);
        return kind.prepare(findProgram(kind.programs()) ?? kind.package, options);
      },
    }
  );
}

/** The URL that the environment gives; the databases of both sides do for one that serves both. */
export function givenUrl({ variable }: StoreKind, env: NodeJS.ProcessEnv): string | undefined {
  if (env[variable]) return env[variable];
  return (variable === 'DATABASE_URL' && env.WEBHOOK_DATABASE_URL && env.AUTH_DATABASE_URL) || undefined;
}

async function refuseOrTake({ name, variable, letsIn }: StoreKind, url: string): Promise<Located> {
  if (await letsIn(url)) return { url };
  throw new Trouble(
    `${variable} is set, but ${name} does not let us in at ${maskUrl(url)}.`,
    `Start it, mend ${variable}, or unset it to have one started here.`,
  );
}

/** Finds the source of each store. @throws Trouble, in two lines, naming all that there is no source for. */
export async function findSources(machine: Machine, own = false, kinds = storeKinds): Promise<Source[]> {
  const found = await Promise.all(kinds.map((kind) => findSource(kind, machine, own)));
  const missing = kinds.filter((_, index) => !found[index]);
  if (missing.length === 0) return found.filter((source) => source !== undefined);
  throw new Trouble(
    `Missing: ${missing.map(({ name }) => name).join(', ')}. Install them (Debian, Ubuntu: sudo apt-get install ${missing.map((kind) => kind.package).join(' ')}), or start a Docker engine that has \`docker compose\`,`,
    `or set ${missing.map(({ variable }) => variable).join(', ')} to servers that run elsewhere.`,
  );
}

/** A store whose address is known. */
export type Store = Located & {
  name: StoreKind['name'];
  /** Resolves when it lets us in; with its process, if that is ours. */
  ready: Promise<Child | undefined>;
};

/** Brings one store up, as a step that is shown. Resolves as soon as its address is known: it may still be starting then. */
export async function bringUp({ kind: { name }, how, locate }: Source, options: PrivateOptions): Promise<Store> {
  const known = Promise.withResolvers<Store>();
  let where = '';
  const ready = options.say.step(
    name,
    () => `${how} ${where}`,
    async (note) => {
      const located = await locate(options, note);
      where = new URL(located.url).host || 'the given URL';
      known.resolve({ ...located, name, ready });
      return located.launch?.();
    },
  );
  ready.catch(known.reject);
  return known.promise;
}

/** Each by its variable, as the services want them. */
export function urlsOf(stores: Store[]): Record<StoreKind['name'], string> {
  return Object.fromEntries(stores.map((store) => [store.name, store.url])) as Record<StoreKind['name'], string>; // one of each
}
