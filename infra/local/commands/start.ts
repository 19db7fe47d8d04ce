/**
 * `npm start`: stores, migrations, services, the smoke story; then keeps everything running until it is told to stop.
 * `bootstrap.mjs` answers `--help`, which needs nothing installed.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { keepCertificates } from '../processes/certificates.ts';
import type { Child } from '../processes/child.ts';
import { setLogsAside } from '../processes/home.ts';
import { answers, checkPorts } from '../processes/ports.ts';
import { checkVariables, demoPort, migrate, serviceNames, startDemoApp, startService } from '../processes/services.ts';
import { type Supervised, supervise } from '../processes/supervise.ts';
import { Trouble } from '../processes/trouble.ts';
import { openStores, urlsOf } from '../stores/stores.ts';
import type { Context } from './command.ts';
import { producerEnvFile, servicesEnv, servicesEnvFile, webhookApiUrl, writeEnvFile } from './environment.ts';
import { runSmoke } from './smoke.ts';
import { welcome } from './welcome.ts';

export default async function start({ args, env, home, say, signal, stack }: Context): Promise<number> {
  const unknown = args.filter((arg) => arg !== '--fresh' && arg !== '--private');
  if (unknown.length > 0)
    throw new Trouble(`npm start does not know ${unknown.join(' ')}; \`npm start -- --help\` says what it takes.`);
  const certificates = await keepCertificates(home);
  // Report bad values and taken ports before anything starts.
  await checkVariables({ ...env, ...servicesEnv(home, env, unknownYet, certificates) });
  await checkPorts(env);
  setLogsAside(home);

  const fresh = args.includes('--fresh');
  if (fresh) say.about('fresh', 'our data are dropped');
  for (const name of fresh ? ['outbox', 'secrets-key'] : []) rmSync(join(home, name), { recursive: true, force: true });
  const stores = await openStores(env, { home, fresh, signal, stack, say }, { own: args.includes('--private') });
  const values = servicesEnv(home, env, urlsOf(stores), certificates);
  writeEnvFile(servicesEnvFile(home), values);
  const serviceEnv = { ...env, ...values };
  const broker = stores.find((store) => store.name === 'RabbitMQ')!; // one of each
  // Producers have their own user if the broker is ours, else the services'.
  const producerUrl = env.PRODUCER_AMQP_URL || broker.producerUrl;
  if (!producerUrl)
    say.about('producers', "share the services' AMQP_URL: this RabbitMQ is not ours (docs/reference/rabbitmq.md)");
  const producerEnv = { PRODUCER_AMQP_URL: producerUrl || broker.url };
  writeEnvFile(producerEnvFile(home), producerEnv);

  await say.step('migrations', 'both schemas are up to date', () => migrate(serviceEnv, signal));
  const running = { env: serviceEnv, home, say, signal, stack };
  const startOne = async (name: string, launch: () => Promise<Child>): Promise<Supervised> => {
    return { name, launch, child: await say.step(name, 'ready', launch) };
  };
  const starting = serviceNames.map((name) => startOne(name, () => startService(name, running)));
  const kept: Supervised[] = [...stores.flatMap(({ server }) => server ?? []), ...(await Promise.all(starting))];

  const hasDemo = values.SEED_FILE !== '';
  const demoEnv = { ...serviceEnv, ...producerEnv, WEBHOOK_API_URL: webhookApiUrl(serviceEnv) };
  if (hasDemo && (await answers(demoPort, 'localhost'))) say.about('demo', `not started: port ${demoPort} is taken`);
  else if (hasDemo) kept.push(await startOne('demo', () => startDemoApp({ ...running, env: demoEnv })));

  const ended = Promise.race(kept.map((one) => supervise(one, say, signal)));
  ended.catch(() => {}); // awaited below
  say.line();
  if (hasDemo && !(await runSmoke(demoEnv, signal))) say.line(`  The logs are in ${join(home, 'logs')}.`);
  for (const line of welcome(serviceEnv, home, hasDemo, certificates)) say.line(line);
  await ended;
  return 0;
}

/** Placeholders for the stores' URLs. */
const unknownYet = {
  PostgreSQL: 'postgres://gatepost:unknown@127.0.0.1/gatepost',
  Redis: 'redis://127.0.0.1',
  RabbitMQ: 'amqp://gatepost:unknown@127.0.0.1/gatepost',
};
