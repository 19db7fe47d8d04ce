/**
 * `npm start`: the whole flow. Stores, migrations, services, the smoke story, then whatever happens until someone says stop.
 * `--help` is answered by `bootstrap.mjs`, which needs nothing installed for it.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { keepCertificates } from '../processes/certificates.ts';
import { noteRunning } from '../processes/home.ts';
import { isFree } from '../processes/ports.ts';
import { checkPorts, demoPort, migrate, startDemoApp, startService } from '../processes/services.ts';
import { type Supervised, supervise } from '../processes/supervise.ts';
import { Trouble } from '../processes/trouble.ts';
import { bringUp, findSources, openMachine, type Store, urlsOf } from '../stores/stores.ts';
import type { Context } from './command.ts';
import { checkSeedFiles, producerEnvFile, webhookApiUrl, writeEnv, writeServicesEnv } from './environment.ts';
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
  const stores = await openStores(context);
  const certificates = await keepCertificates(home);
  const values = writeServicesEnv(home, env, urlsOf(stores), certificates);
  const serviceEnv = { ...env, ...values };
  const broker = stores.find((store) => store.name === 'RabbitMQ')!; // one of each
  // A user of their own, where the broker is ours to make one in, else what the services have.
  const producerUrl = env.PRODUCER_AMQP_URL || broker.producerUrl;
  if (!producerUrl)
    say.about('producers', "share the services' AMQP_URL: this RabbitMQ is not ours (docs/reference/rabbitmq.md)");
  const producerEnv = { PRODUCER_AMQP_URL: producerUrl || broker.url };
  writeEnv(producerEnvFile(home), producerEnv);

  // RabbitMQ takes longest: what does not need it goes on meanwhile.
  const ready = Promise.all(stores.map((store) => store.ready));
  const withoutQueues = Promise.all(stores.filter((store) => store !== broker).map((store) => store.ready));
  const migrated = withoutQueues.then(() =>
    say.step('migrations', 'both schemas are up to date', () => migrate(serviceEnv, signal)),
  );
  const running = { env: serviceEnv, home, stack, signal, onNews: (line: string) => say.about('mail', line) };
  const startOne = async (name: string, needs: Promise<unknown>): Promise<Supervised> => {
    await needs;
    const again = () => startService(name, running);
    return { name, start: again, child: await say.step(name, 'ready', again) };
  };
  const all = Promise.all([migrated, ready]);
  const services = await allOrWhatIsWrong([
    startOne('auth', serviceEnv.EVENTS_ACCOUNT ? all : migrated),
    startOne('webhook-api', all),
    startOne('dispatcher', all),
  ]);
  const servers = stores.map(async ({ name, launch, ready: started }): Promise<Supervised[]> => {
    const child = await started;
    return child && launch ? [{ name, child, start: launch }] : [];
  });
  const kept = [...(await Promise.all(servers)).flat(), ...services];

  const hasDemo = values.SEED_FILE !== '';
  const demoEnv = { ...serviceEnv, ...producerEnv, WEBHOOK_API_URL: webhookApiUrl(serviceEnv) };
  if (hasDemo && (await isFree(demoPort, 'localhost'))) {
    const again = () => startDemoApp({ ...running, env: demoEnv });
    kept.push({ name: 'demo', start: again, child: await say.step('demo', 'ready', again) });
  } else if (hasDemo) say.about('demo', `not started: port ${demoPort} is taken`);

  const ended = Promise.race(kept.map((one) => supervise(one, say.about, signal)));
  ended.catch(() => {}); // it is heard below
  say.line();
  if (hasDemo && !(await runSmoke(demoEnv, signal))) say.line(`  The logs are in ${join(home, 'logs')}.`);
  for (const line of welcome(serviceEnv, home, hasDemo, certificates)) say.line(line);
  await ended;
  throw signal.reason;
}

/** All that is needed, each as far as its address is known. `--fresh` drops what is ours in them, and what was made with it. */
async function openStores({ args, env, home, say, signal, stack }: Context): Promise<Store[]> {
  const fresh = args.includes('--fresh');
  const options = { home, fresh, durable: true, management: false, signal, stack, say };
  const sources = await findSources(openMachine(env, options), args.includes('--private'));
  if (fresh) say.about('fresh', 'our data are dropped');
  for (const name of fresh ? ['outbox', 'secrets-key'] : []) rmSync(join(home, name), { recursive: true, force: true });
  return Promise.all(
    sources.map(async (source) => {
      const store = await bringUp(source, options);
      if (fresh && source.isShared) await source.kind.drop(store.url, env);
      return store;
    }),
  );
}

/** What all promise. Where some fail, the others are heard too, so that everything can be mended at once. */
async function allOrWhatIsWrong<T>(starts: Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(starts);
  const reasons = new Set(results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : [])));
  const troubles = [...reasons].filter((reason) => reason instanceof Trouble);
  if (troubles.length > 0) throw new Trouble(...troubles.flatMap(({ lines }) => lines));
  return Promise.all(starts);
}
