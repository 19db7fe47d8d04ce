/** `npm start`: stores, migrations, services, the smoke story; then keeps everything running until it is told to stop. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { migrationPrograms } from '@gatepost/testkit/program';
import { keepCertificates } from '../processes/certificates.ts';
import { runWell, type Supervised, supervise } from '../processes/child.ts';
import { setLogsAside } from '../processes/home.ts';
import { answers, checkPorts } from '../processes/ports.ts';
import { checkVariables, demoPort, serviceLauncher, serviceNames } from '../processes/services.ts';
import { Trouble } from '../processes/trouble.ts';
import { withoutDatabases } from '../stores/postgres.ts';
import { openStores, urlsOf } from '../stores/stores.ts';
import type { Context } from './command.ts';
import { servicesEnv, webhookApiUrl, withFiles, writeEnvFile } from './environment.ts';
import { runSmoke } from './smoke.ts';
import { welcome } from './welcome.ts';

export default async function start({ args, env: typed, home, say, signal, stack }: Context): Promise<number> {
  const unknown = args.filter((arg) => arg !== '--fresh' && arg !== '--private');
  if (unknown.length > 0)
    throw new Trouble(`npm start does not know ${unknown.join(' ')}; \`npm start -- --help\` says what it takes.`);
  const env = await withFiles(typed);
  const certificates = await keepCertificates(home);
  // Report bad values and taken ports before anything starts.
  const planned = { ...env, ...(await servicesEnv(home, env, unknownYet, certificates)) };
  await checkVariables(planned);
  await checkPorts(planned);
  setLogsAside(home);

  const fresh = args.includes('--fresh');
  const stores = await openStores({ env, home, fresh, own: args.includes('--private'), say, signal, stack });
  // After the data: what an interrupted start leaves of it must still open.
  for (const name of fresh ? ['outbox', 'secrets-key'] : []) rmSync(join(home, name), { recursive: true, force: true });
  const given = stores.find((store) => store.name === 'PostgreSQL')?.isGiven ? env : withoutDatabases(env);
  const values = await servicesEnv(home, given, urlsOf(stores), certificates);
  writeEnvFile(home, 'services', values);
  const serviceEnv: NodeJS.ProcessEnv = { ...given, ...values };
  const unused = Object.keys(env).filter((name) => env[name] && !(name in serviceEnv));
  if (unused.length > 0) say.about('PostgreSQL', `not used: ${unused.join(', ')}`);
  const broker = stores.find((store) => store.name === 'RabbitMQ')!; // one of each
  // Producers have their own user if the broker is ours, else the services'.
  const producerEnv = { PRODUCER_AMQP_URL: env.PRODUCER_AMQP_URL || broker.producerUrl || broker.url };
  writeEnvFile(home, 'producer', producerEnv);
  if (producerEnv.PRODUCER_AMQP_URL === broker.url)
    say.about('producers', "share the services' AMQP_URL: this RabbitMQ is not ours (docs/reference/rabbitmq.md)");

  const migrate = (path: string) =>
    runWell(`${path} failed:`, process.execPath, ['--conditions=source', path], { env: serviceEnv, signal });
  await say.step('migrations', 'both schemas are up to date', () => Promise.all(migrationPrograms.map(migrate)));
  const startOne = async (name: string, more = {}, folder?: string): Promise<Supervised> => {
    const launch = serviceLauncher(name, { env: { ...serviceEnv, ...more }, home, say, signal, stack }, folder);
    return { name, launch, child: await say.step(name, 'ready', launch).catch(adviseOnKey) };
  };
  const services = await Promise.all(serviceNames.map((name) => startOne(name)));
  const kept: Supervised[] = [...stores.flatMap(({ server }) => server ?? []), ...services];

  const hasDemo = values.SEED_FILE !== '';
  const ofDemo = { ...producerEnv, WEBHOOK_API_URL: webhookApiUrl(serviceEnv) };
  if (hasDemo && (await answers(demoPort, 'localhost'))) say.about('demo', `not started: port ${demoPort} is taken`);
  else if (hasDemo) kept.push(await startOne('demo', ofDemo, 'infra'));

  const ended = Promise.race(kept.map((one) => supervise(one, { say, signal })));
  ended.catch(() => {}); // awaited below
  say.line();
  if (hasDemo && !(await runSmoke({ ...serviceEnv, ...ofDemo }, signal)))
    say.line(`  The logs are in ${join(home, 'logs')}.`);
  for (const line of welcome(serviceEnv, home, hasDemo, certificates)) say.line(line);
  await ended;
  return 0;
}

/** Data that another key has sealed are from another folder, or from before this one was deleted: in stores that others use, too, they outlive it. */
function adviseOnKey(error: unknown): never {
  if (!(error instanceof Trouble) || !error.message.includes('SECRETS_KEY is not the key')) throw error;
  throw new Trouble(
    error.message,
    'These data were made with the SECRETS_KEY of another folder, or of one that is gone. `npm start -- --private` leaves them alone and has stores of its own,',
    '`npm start -- --fresh` drops them.',
  );
}

/** Placeholders for the stores' URLs. */
const unknownYet = { PostgreSQL: 'postgres://a:b@host/c', Redis: 'redis://host', RabbitMQ: 'amqp://a:b@host/c' };
