/**
 * `npm start`: the whole flow. Stores, migrations, services, the smoke story, then whatever happens until someone says stop.
 * `--help` is answered by `bootstrap.mjs`, which needs nothing installed for it.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { keepCertificates } from '../processes/certificates.ts';
import { type Child, type Group, openGroup } from '../processes/child.ts';
import { logEnd, noteRunning } from '../processes/home.ts';
import { isFree } from '../processes/ports.ts';
import { checkPorts, demoPort, migrate, type ServiceName, startDemoApp, startService } from '../processes/services.ts';
import { type Death, describeExit, supervise } from '../processes/supervise.ts';
import { BadConfiguration, Trouble } from '../processes/trouble.ts';
import { dropPrivateData } from '../stores/fresh.ts';
import { bringUp, findSources, openMachine, type Store, urlsOf } from '../stores/stores.ts';
import type { Context } from './command.ts';
import { checkSeedFiles, webhookApiUrl, writeProducerEnv, writeServicesEnv } from './environment.ts';
import { runSmoke } from './smoke.ts';
import { welcome } from './welcome.ts';

export default async function start(context: Context): Promise<number> {
  const { args, env, home, say, signal, stack } = context;
  const unknown = args.filter((arg) => arg !== '--fresh' && arg !== '--private');
  if (unknown.length > 0)
    throw new Trouble(`npm start does not know ${unknown.join(' ')}; \`npm start -- --help\` says what it takes.`);
  checkSeedFiles(env);

  await checkPorts(env, home);
  stack.use(noteRunning(home));
  // Closed newest first: services stop before the stores they use.
  const stores = await openStores(context, stack.use(openGroup()));
  const serviceGroup = stack.use(openGroup());
  const broker = stores.find((store) => store.name === 'RabbitMQ')!; // one of each
  const certificates = await keepCertificates(home);
  const values = writeServicesEnv(home, env, urlsOf(stores), certificates);
  const serviceEnv = { ...env, ...values };
  const producerEnv = writeProducerEnv(home, producerUrl(context, broker));

  // RabbitMQ takes longest: what does not need it goes on meanwhile.
  const ready = Promise.all(stores.map((store) => store.ready));
  const withoutQueues = Promise.all(stores.filter((store) => store !== broker).map((store) => store.ready));
  const migrated = withoutQueues.then(() =>
    say.step('migrations', 'both schemas are up to date', () => migrate(serviceEnv, signal)),
  );
  const onNews = (line: string) => say.about('mail', line);
  const running = { env: serviceEnv, home, group: serviceGroup, signal, onNews };
  const startOne = async (name: ServiceName, needs: Promise<unknown>) => {
    await needs;
    const start = () => startService(name, running);
    return { name: name as string, start, child: await say.step(name, 'ready', start) };
  };
  const services = await allOrWhatIsWrong([
    startOne('auth', serviceEnv.EVENTS_ACCOUNT ? Promise.all([migrated, ready]) : migrated),
    startOne('webhook-api', Promise.all([migrated, ready])),
    startOne('dispatcher', Promise.all([migrated, ready])),
  ]);

  const servers = stores.map(async ({ name, launch, ready: started }) => {
    const child = await started;
    return child && launch ? [{ name, child, start: launch }] : [];
  });
  const hasDemo = values.SEED_FILE !== '';
  const demoEnv = { ...serviceEnv, ...producerEnv, WEBHOOK_API_URL: webhookApiUrl(serviceEnv) };
  if (hasDemo && (await isFree(demoPort, 'localhost'))) {
    const start = () => startDemoApp({ ...running, env: demoEnv });
    services.push({ name: 'demo', start, child: await say.step('demo', 'ready', start) });
  } else if (hasDemo) say.about('demo', `not started: port ${demoPort} is taken`);

  const ended = keepRunning(context, [...(await Promise.all(servers)).flat(), ...services]);
  say.line();
  if (hasDemo && !(await runSmoke(demoEnv, signal))) say.line(`  The logs are in ${join(home, 'logs')}.`);
  for (const line of welcome(serviceEnv, home, hasDemo, certificates)) say.line(line);
  throw await ended;
}

/** All that is needed, each as far as its address is known. `--fresh` drops what is ours in them. */
async function openStores({ args, env, home, say, signal }: Context, group: Group): Promise<Store[]> {
  const machine = openMachine(env, home, signal);
  const sources = await findSources(machine, args.includes('--private'));
  const fresh = args.includes('--fresh');
  if (fresh) await say.step('fresh', 'dropped our data', () => dropPrivateData(home, machine));
  return Promise.all(
    sources.map(async (source) => {
      const store = await bringUp(source, { home, durable: true, management: false, signal, group, say });
      if (fresh && source.isShared) await source.kind.drop(store.url, env);
      return store;
    }),
  );
}

/** What all promise. Where one refuses its environment, the others are heard too, so that everything can be mended at once. */
async function allOrWhatIsWrong<T>(starts: Promise<T>[]): Promise<T[]> {
  try {
    return await Promise.all(starts);
  } catch (error) {
    if (!(error instanceof BadConfiguration)) throw error;
    const results = await Promise.allSettled(starts);
    const wrong = results.map((result) => (result.status === 'rejected' ? result.reason : undefined));
    throw new Trouble(...wrong.flatMap((reason) => (reason instanceof BadConfiguration ? reason.lines : [])));
  }
}

/** What producers publish with: a user of their own, where the broker is ours to make one in, else what the services have. */
function producerUrl({ env, say }: Context, broker: Store): string {
  const url = env.PRODUCER_AMQP_URL || broker.producerUrl;
  if (!url)
    say.about('producers', "share the services' AMQP_URL: this RabbitMQ is not ours (docs/reference/rabbitmq.md)");
  return url || broker.url;
}

type Kept = { name: string; child: Child; start: () => Promise<Child> };

/** Keeps services and private stores running; resolves with the trouble that ends it all, or with the reason to stop. */
function keepRunning({ say, signal }: Context, kept: Kept[]): Promise<unknown> {
  const troubles = kept.map(async (one) => {
    const onDeath = ({ exit, waitMs }: Death) =>
      say.about(one.name, `${describeExit(exit)}; starting it again in ${waitMs / 1000} s`);
    const last = await supervise({ ...one, onDeath, onReady: () => say.about(one.name, 'runs again') }, signal);
    if (!last) return signal.reason;
    return new Trouble(
      `${one.name} died five times within a minute, the last time it ${describeExit(last.exit)}; the end of ${one.child.log}:`,
      ...logEnd(one.child.log),
    );
  });
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort');
  return Promise.race([...troubles, stopped.then(() => signal.reason)]);
}
