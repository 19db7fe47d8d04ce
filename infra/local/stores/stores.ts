/**
 * Where PostgreSQL, Redis and RabbitMQ come from. For each on its own, the first of these is taken:
 *
 *   1. its URL in the environment
 *   2. a server on its default local port that lets us in
 *   3. its installed server program: a private instance under `.gatepost/`, on a free port
 *   4. a Docker engine: the service of docker-compose.yml
 *   5. the distribution's package, on Debian and Ubuntu as root: installed, then as 3
 */
import { maskUrl } from '@gatepost/runtime/mask';
import { findProgram, type Supervised } from '../processes/child.ts';
import { Trouble } from '../processes/trouble.ts';
import { findInstaller } from './debian.ts';
import { findCompose, prepareContainer } from './docker.ts';
import { postgres, withoutDatabases } from './postgres.ts';
import type { Located, PrivateOptions, PrivateStore, StoreKind } from './private.ts';
import { rabbitmq } from './rabbitmq.ts';
import { redis } from './redis.ts';

export const storeKinds: StoreKind[] = [rabbitmq, postgres, redis]; // first what takes longest to start

/** A store that lets us in; `server` if it runs as a process of ours. */
export type Store = Located & { name: StoreKind['name']; isGiven: boolean; server?: Supervised };

/** Brings up one of each kind. @throws Trouble saying what to do. */
export async function openStores(options: PrivateOptions, kinds = storeKinds): Promise<Store[]> {
  const sources = await findSources(options, kinds);
  return Promise.all(sources.map((source) => bringUp(source, options)));
}

/** Where a store will come from. `prepare` returns its address, and its `launch` if we are to start it. */
export type Source = {
  kind: StoreKind;
  how: 'given, at' | 'found running at' | 'a private instance at' | 'in a container, at';
  prepare(options: PrivateOptions): Promise<Located & Partial<PrivateStore>>;
};

/** Searches in the order above; if `own`, from 3. @throws Trouble, in two lines, naming every store without a source. */
export async function findSources(
  options: PrivateOptions,
  kinds: StoreKind[],
  { compose, installer } = { compose: findCompose, installer: findInstaller },
): Promise<Source[]> {
  const { env, own, say } = options;
  const find = async (kind: StoreKind) => (!own && (await findRunning(kind, env))) || findPrivate(kind, env);
  const found = await Promise.all(kinds.map(find));
  const missing = kinds.filter((_, index) => !found[index]);
  const packages = missing.map((kind) => kind.package);
  const engine = missing.length > 0 ? await compose(options) : undefined;
  const install = missing.length > 0 && !engine ? await installer(options) : undefined;
  if (install) await say.step('packages', `installed: ${packages.join(' ')}`, () => install(packages));
  return kinds.map((kind, index): Source => {
    if (found[index]) return found[index];
    if (engine) return { kind, how: 'in a container, at', prepare: (one) => prepareContainer(engine, kind, one) };
    const installed = findPrivate(kind, env);
    if (installed) return installed;
    throw new Trouble(
      `Missing: ${missing.map(({ name }) => name).join(', ')}. Install them (Debian, Ubuntu: sudo apt-get install ${packages.join(' ')}), or start a Docker engine that has \`docker compose\`,`,
      `or set ${missing.map(({ variable }) => variable).join(', ')} to servers that run elsewhere.`,
    );
  });
}

async function findRunning(kind: StoreKind, env: NodeJS.ProcessEnv): Promise<Source | undefined> {
  const { name, variable, letsIn, usual } = kind;
  const at = (url: string, how: Source['how']): Source => ({ kind, how, prepare: async () => ({ url }) });
  // A database for each side replaces one for both.
  const both = variable === 'DATABASE_URL' && env.WEBHOOK_DATABASE_URL && env.AUTH_DATABASE_URL;
  const given = env[variable] || both;
  if (given && (await letsIn(given))) return at(given, 'given, at');
  if (given)
    throw new Trouble(
      `${variable} is set, but ${name} does not let us in at ${maskUrl(given)}.`,
      `Start it, mend ${variable}, or unset it to have one started here.`,
    );
  for (const url of usual(env)) if (await letsIn(url, true)) return at(url, 'found running at');
  return undefined;
}

function findPrivate(kind: StoreKind, env: NodeJS.ProcessEnv): Source | undefined {
  const program = findProgram(kind.programs(), env.PATH);
  if (!program) return undefined;
  return { kind, how: 'a private instance at', prepare: (options) => kind.prepare(program, options) };
}

/** Runs as a step that is shown. From a store that others may use, only our data is dropped. */
async function bringUp({ kind, how, prepare }: Source, options: PrivateOptions) {
  const isGiven = how === 'given, at';
  const detail = ({ url }: Store) => `${how} ${new URL(url).host || 'the given URL'}`;
  return options.say.step(kind.name, detail, async (): Promise<Store> => {
    const { launch, ...located } = await prepare(options);
    if (options.fresh && !launch) await kind.drop(located.url, isGiven ? options.env : withoutDatabases(options.env));
    const child = await launch?.();
    // The process of a container only waits to stop it: the engine runs the server.
    const isOurs = launch && child && how === 'a private instance at';
    return { name: kind.name, isGiven, ...located, ...(isOurs && { server: { name: kind.name, child, launch } }) };
  });
}

/** The stores' URLs, by name. */
export function urlsOf(stores: Store[]): Record<StoreKind['name'], string> {
  return Object.fromEntries(stores.map((store) => [store.name, store.url])) as Record<StoreKind['name'], string>; // one of each
}
