/**
 * The gain from more dispatchers, or with `--only shards` the cost of more shards at the same load: with several accounts, half of them
 * with two hooks, so that both events and jobs pass through RabbitMQ. Each time more is offered than possible.
 */
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import type { Service } from '@gatepost/testkit/system';
import { openBenchSystem } from './bench-system.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { cpuSeconds, cpuSecondsOf } from './processes.ts';
import type { Report } from './receiver.ts';
import { secret, startReceiver } from './receiver-process.ts';

const accounts = 40;
const drainTimeoutMs = 60_000;
/** The first is measured again at the end, to show how the machine itself has changed. */
const steps = {
  shards: [1, 4, 8, 1].map((shards) => ({ dispatchers: 1, shards })),
  dispatchers: [1, 2, 4, 1].map((dispatchers) => ({ dispatchers, shards: 1 })),
};

export async function scale(options: Record<string, string | undefined>): Promise<Result> {
  const events = Number(options.events ?? 4_000);
  const throttle = { rate: 1e6, burst: 1e6 };
  const logins = Array.from({ length: accounts }, (_, index) => `scale-${index}`);
  const subjects = logins.map((login) => `${login}/widgets`);
  await using system = await openBenchSystem(logins.map((login) => ({ login, throttle })));
  using receiver = await startReceiver();
  const api = await openApi(system);
  for (const [index, subject] of subjects.entries())
    for (let hook = 0; hook <= index % 2; hook += 1)
      await api.createHook({ url: `${receiver.url}?${index}-${hook}`, secret }, ['push'], `repos/${subject}`);
  await using producer = await openProducer(system.amqpUrl);
  const expected = events * 1.5;
  let running: Service[] = [system.dispatcher];

  const measure = async ({ dispatchers, shards }: (typeof steps)['shards'][number]) => {
    const env = { EVENT_SHARDS: String(shards), DELIVERY_SHARDS: String(shards) };
    const next = await Promise.all(Array.from({ length: dispatchers }, () => system.startDispatcher(env)));
    await Promise.all(running.map((dispatcher) => dispatcher.end('SIGTERM')));
    running = next;
    await flood(events / 4); // warm up
    const before = cpuNow();
    const report = await flood(events);
    const after = cpuNow();
    const perThousand = (name: keyof typeof after) => ((after[name] - before[name]) / expected) * 1_000;
    return {
      dispatchers,
      shards,
      perSecond: report.received / ((report.lastAt - report.firstAt) / 1_000),
      lost: expected - report.received,
      duplicates: report.duplicates,
      cpuPerThousand: { dispatcher: perThousand('dispatcher'), RabbitMQ: perThousand('RabbitMQ') },
      postgresPerThousand: perThousand('PostgreSQL'),
    };
  };
  const flood = async (count: number): Promise<Report> => {
    await receiver.ask('reset');
    await offer(producer, { rate: 1e6, total: count, subjects });
    const deadline = performance.now() + drainTimeoutMs;
    const received = async () => (await receiver.ask<{ received: number }>('count')).received;
    while ((await received()) < count * 1.5 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 50));
    return receiver.ask<Report>('report');
  };
  const cpuNow = () => ({
    dispatcher: running.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    RabbitMQ: cpuSecondsOf('beam.smp', '/bench/rabbitmq'),
    PostgreSQL: cpuSecondsOf('postgres', 'dispatcher'),
  });

  const measured = [];
  for (const step of steps[options.only === 'shards' ? 'shards' : 'dispatchers']) measured.push(await measure(step));
  return {
    rows: measured.map(({ dispatchers, shards, perSecond, lost, duplicates, cpuPerThousand: cpu }) => [
      `${dispatchers} dispatcher${dispatchers === 1 ? '' : 's'}, ${shards} shard${shards === 1 ? '' : 's'}`,
      `${perSecond.toFixed(0)}/s; CPU s per 1,000: dispatchers ${cpu.dispatcher.toFixed(3)}, RabbitMQ ${cpu.RabbitMQ.toFixed(3)}; lost ${lost}, duplicates ${duplicates}`,
    ]),
    figures: { events, measured },
  };
}
