/** What a listener costs: deliveries through its WebSocket to a receiver behind it, compared with direct ones, in one run; and 500 listeners. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import type { System } from '@gatepost/testkit/system';
import { openBenchSystem } from './bench-system.ts';
import type { Wanted } from './listener-process.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { memoryOf } from './processes.ts';
import { ms, quantile, withTarget } from './quantile.ts';
import type { Report } from './receiver.ts';
import { type ReceiverProcess, secret, startReceiver } from './receiver-process.ts';

const idleMost = 500;
/** The largest number of hooks that a place may have for one event. */
const perPlace = 20;

export async function listen(options: Record<string, string | undefined>): Promise<Result> {
  const rate = Number(options.rate ?? 100);
  const seconds = Number(options.seconds ?? 15);
  const throttle = { rate: 1e6, burst: 1e6 };
  const busy = ['direct', 'extension', 'own'];
  const idle = Array.from({ length: Math.ceil(idleMost / perPlace) }, (_, index) => `idle-${index + 1}`);
  await using system = await openBenchSystem(
    [...busy, ...idle].map((login) => ({ login, throttle })),
    { LISTENERS_PER_CALLER: '1000' },
  );
  const receivers = await Promise.all(busy.map(() => startReceiver()));
  using _all = {
    [Symbol.dispose]() {
      for (const receiver of receivers) receiver[Symbol.dispose]();
    },
  };
  const [direct, extension, own] = receivers as [ReceiverProcess, ReceiverProcess, ReceiverProcess];
  const api = await openApi(system);
  await api.createHook({ url: direct.url, secret }, ['push'], 'repos/direct/widgets');
  using _extension = await startListeners(system, ['extension'], 1, extension.url);
  using _own = await startListeners(system, ['own'], 1, own.url, 'gatepost.v1');
  const subjects = busy.map((login) => `${login}/widgets`);
  const measure = async (some: number) => {
    for (const receiver of receivers) await receiver.ask('reset');
    await using producer = await openProducer(system.amqpUrl);
    await offer(producer, { rate: rate * busy.length, total: rate * busy.length * some, subjects });
    const deadline = performance.now() + 30_000;
    for (const receiver of receivers)
      while ((await receiver.ask<{ received: number }>('count')).received < rate * some && performance.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 50));
    return Promise.all(receivers.map((receiver) => receiver.ask<Report>('report')));
  };
  await measure(3); // warm up
  const before = memoryOf(system.webhookApi.pid);
  const reports = await measure(seconds);
  using _idle = await startListeners(system, idle, perPlace, own.url, 'gatepost.v1');
  const open = memoryOf(system.webhookApi.pid);
  const [beside500] = [await measure(5)];
  const after = memoryOf(system.webhookApi.pid);

  const latencies = reports.map((report) => ({
    received: report.received,
    p50: quantile(report.latencies, 0.5),
    p99: quantile(report.latencies, 0.99),
  }));
  const [http, byExtension, byOwn] = latencies as [(typeof latencies)[0], (typeof latencies)[0], (typeof latencies)[0]];
  const shown = ({ received, p50, p99 }: typeof http) => `${ms(p50)} / ${ms(p99)}   (${received} of ${rate * seconds})`;
  const added = (one: typeof http) => one.p50 - http.p50;
  return {
    rows: [
      [`publish → received at ${rate}/s each, p50 / p99: straight`, shown(http)],
      ["  through a listener, GitHub's protocol", shown(byExtension)],
      ['  through a listener, gatepost.v1', shown(byOwn)],
      [
        "what a listener adds, p50: GitHub's protocol",
        withTarget(ms(added(byExtension)), '< 15 ms', added(byExtension) < 15),
      ],
      ['  gatepost.v1', withTarget(ms(added(byOwn)), '< 15 ms', added(byOwn) < 15)],
      ['RSS webhook-api: 2 listeners', `${before.nowMb} MB`],
      [`  ${idleMost + 2} open`, withTarget(`${open.nowMb} MB`, '< 160 MB', open.nowMb < 160)],
      ['  the same, after deliveries', withTarget(`${after.nowMb} MB`, '< 160 MB', after.nowMb < 160)],
      ['  peak', `${after.peakMb} MB`],
      [
        'beside 500, p50: straight / by gatepost.v1',
        [beside500[0]!, beside500[2]!].map(({ latencies }) => ms(quantile(latencies, 0.5))).join(' / '),
      ],
    ],
    figures: { rate, seconds, latencies, memory: { before, open, after } },
  };
}

/** Creates hooks and opens their sockets, the same number for each account. */
async function startListeners(
  system: System,
  logins: string[],
  each: number,
  forwardTo: string,
  protocol?: string,
): Promise<Disposable> {
  const api = await openApi(system);
  const urls: string[] = [];
  for (const login of logins)
    for (let index = 0; index < each; index += 1) {
      const hook = { name: 'cli', events: ['push'], config: { content_type: 'json', secret } };
      const { status, body } = await api.call('POST', `/repos/${login}/widgets/hooks`, hook);
      if (status !== 201) throw new Error(`creating a hook: ${JSON.stringify(body)}`);
      urls.push((body as { ws_url: string }).ws_url);
    }
  const child = fork(fileURLToPath(new URL('./listener-process.ts', import.meta.url)));
  child.send({ urls, token: await system.token(), forwardTo, protocol } satisfies Wanted);
  await once(child, 'message');
  return { [Symbol.dispose]: () => child.disconnect() };
}
