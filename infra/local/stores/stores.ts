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
import type { Say } from '../commands/say.ts';
import type { Child } from '../processes/child.ts';
import { findProgram } from '../processes/programs.ts';
import { Trouble } from '../processes/trouble.ts';
import { findInstaller, type Installer } from './debian.ts';
import { type Compose, findCompose, prepareContainer } from './docker.ts';
import { postgres } from './postgres.ts';
import type { Located, PrivateOptions, StoreKind } from './private.ts';
import { rabbitmq } from './rabbitmq.ts';
import { redis } from './redis.ts';

export const storeKinds: StoreKind[] = [rabbitmq, postgres, redis];

/** A store that lets us in. */
export type Store = Located & {
  name: StoreKind['name'];
  /** Its process, if the server is ours. */
  child?: Child;
};

/** Brings up one of each kind; `own`: none that somebody else may use. @throws Trouble saying what to do. */
export async function openStores(
  env: NodeJS.ProcessEnv,
  options: PrivateOptions,
  { own = false, kinds = storeKinds } = {},
): Promise<Store[]> {
  const compose = () => findCompose(options, env.PATH);
  const machine = { env, say: options.say, compose, installer: () => findInstaller(options.signal, env.PATH) };
  const sources = await findSources(machine, own, kinds);
  return Promise.all(sources.map((source) => bringUp(source, env, options)));
}

/** What the machine offers beyond the stores themselves; it is asked for what some store is not there without. */
export type Machine = {
  env: NodeJS.ProcessEnv;
  say: Pick<Say, 'step'>;
  compose(): Promise<Compose | undefined>;
  installer(): Promise<Installer | undefined>;
};

/** Where one store will come from. */
export type Source = {
  kind: StoreKind;
  how: 'given, at' | 'found running at' | 'a private instance at' | 'in a container, at';
  /** Makes its address known. */
  prepare(options: PrivateOptions): Promise<Located>;
};

/** The order above; `own`: the search begins at 3. @throws Trouble, in two lines, naming all that there is no source for. */
export async function findSources(machine: Machine, own = false, kinds = storeKinds): Promise<Source[]> {
  const { env, say } = machine;
  const found = await Promise.all(
    kinds.map(async (kind) => (own ? undefined : await findRunning(kind, env)) ?? findPrivate(kind, env)),
  );
  const missing = kinds.filter((_, index) => !found[index]);
  const packages = missing.map((kind) => kind.package);
  const compose = missing.length > 0 ? await machine.compose() : undefined;
  const install = missing.length > 0 && !compose ? await machine.installer() : undefined;
  if (install) await say.step('packages', `installed: ${packages.join(' ')}`, () => install(packages));
  const sources = kinds.map(
    (kind, index) => found[index] ?? (compose ? inContainer(kind, compose) : findPrivate(kind, env)),
  );
  if (sources.every((source) => source !== undefined)) return sources;
  throw new Trouble(
    `Missing: ${missing.map(({ name }) => name).join(', ')}. Install them (Debian, Ubuntu: sudo apt-get install ${packages.join(' ')}), or start a Docker engine that has \`docker compose\`,`,
    `or set ${missing.map(({ variable }) => variable).join(', ')} to servers that run elsewhere.`,
  );
}

async function findRunning(kind: StoreKind, env: NodeJS.ProcessEnv): Promise<Source | undefined> {
  const { name, variable, letsIn, usual } = kind;
  const given = givenUrl(kind, env);
  const at = (url: string, how: Source['how']) => ({ kind, how, prepare: async () => ({ url }) });
  if (given && (await letsIn(given))) return at(given, 'given, at');
  if (given)
    throw new Trouble(
      `${variable} is set, but ${name} does not let us in at ${maskUrl(given)}.`,
      `Start it, mend ${variable}, or unset it to have one started here.`,
    );
  for (const url of usual(env)) if (await letsIn(url, true)) return at(url, 'found running at');
  return undefined;
}

/** The URL that the environment gives; the databases of both sides do for one that serves both. */
export function givenUrl({ variable }: StoreKind, env: NodeJS.ProcessEnv): string | undefined {
  if (env[variable]) return env[variable];
  return (variable === 'DATABASE_URL' && env.WEBHOOK_DATABASE_URL && env.AUTH_DATABASE_URL) || undefined;
}

function findPrivate(kind: StoreKind, env: NodeJS.ProcessEnv): Source | undefined {
  const program = findProgram(kind.programs(), env.PATH);
  const prepare = (options: PrivateOptions) => kind.prepare(program!, options);
  return program ? { kind, how: 'a private instance at', prepare } : undefined;
}

function inContainer(kind: StoreKind, compose: Compose): Source {
  const prepare = (options: PrivateOptions) => prepareContainer(compose, kind, options);
  return { kind, how: 'in a container, at', prepare };
}

/** As a step that is shown. A store that others may use too is dropped nothing of but what is ours. */
async function bringUp({ kind, how, prepare }: Source, env: NodeJS.ProcessEnv, options: PrivateOptions) {
  const { name } = kind;
  const detail = ({ url }: Store) => `${how} ${new URL(url).host || 'the given URL'}`;
  return options.say.step(name, detail, async (): Promise<Store> => {
    const located = await prepare(options);
    if (options.fresh && !located.launch) await kind.drop(located.url, env);
    const child = await located.launch?.();
    // What stands for a container here only waits to stop it: the engine runs the server.
    return { ...located, name, ...(child && how === 'a private instance at' && { child }) };
  });
}

/** Each by its variable, as the services want them. */
export function urlsOf(stores: Store[]): Record<StoreKind['name'], string> {
  return Object.fromEntries(stores.map((store) => [store.name, store.url])) as Record<StoreKind['name'], string>; // one of each
}
