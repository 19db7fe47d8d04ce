/** What delivery streams cost: 500 of them at one process of the webhook API, on 50 hooks, with and without deliveries. */
import { Agent, get } from 'node:http';
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openBenchSystem } from './bench-system.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { cpuSeconds, memoryOf } from './processes.ts';
import { ms, quantile, withTarget } from './quantile.ts';
import { secret, startReceiver } from './receiver-process.ts';

const streams = 500;
const accounts = 50;

export async function watch(options: Record<string, string | undefined>): Promise<Result> {
  const rate = Number(options.rate ?? 100);
  const seconds = Number(options.seconds ?? 10);
  const throttle = { rate: 1e6, burst: 1e6 };
  const logins = Array.from({ length: accounts }, (_, index) => `watched-${index + 1}`);
  await using system = await openBenchSystem(
    logins.map((login) => ({ login, throttle })),
    { STREAMS_PER_CALLER: '1000' },
  );
  using receiver = await startReceiver();
  const api = await openApi(system);
  const token = await system.token();
  const { pid } = system.webhookApi;
  const before = memoryOf(pid);
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  const late: number[] = [];
  const open = async (path: string) => {
    const headers = { authorization: `Bearer ${token}`, 'user-agent': 'bench' };
    const response = await new Promise<NodeJS.ReadableStream & { statusCode?: number }>((resolve, reject) =>
      get(system.apiUrl + path, { agent, headers }, resolve).on('error', reject),
    );
    if (response.statusCode !== 200) throw new Error(`a stream was answered ${response.statusCode}`);
    response.on('error', () => {}); // the system is stopping
    response.on('data', (chunk) => {
      for (const [, at] of String(chunk).matchAll(/"delivered_at":"([^"]+)"/g)) late.push(Date.now() - Date.parse(at!));
    });
  };
  for (const login of logins) {
    const hookId = await api.createHook({ url: receiver.url, secret }, ['push'], `repos/${login}/widgets`);
    const path = `/repos/${login}/widgets/hooks/${hookId}/deliveries/stream`;
    await Promise.all(Array.from({ length: streams / accounts }, () => open(path)));
  }
  const idleSeconds = cpuSeconds(pid);
  await pause(5_000);
  const idle = { ...memoryOf(pid), cpu: (cpuSeconds(pid) - idleSeconds) / 5 };
  late.length = 0;
  const busySeconds = cpuSeconds(pid);
  await using producer = await openProducer(system.amqpUrl);
  await offer(producer, { rate, total: rate * seconds, subjects: logins.map((login) => `${login}/widgets`) });
  const wanted = (rate * seconds * streams) / accounts;
  for (let waited = 0; late.length < wanted && waited < 300; waited += 1) await pause(100);
  const busy = { ...memoryOf(pid), cpu: (cpuSeconds(pid) - busySeconds) / seconds };
  agent.destroy();
  const share = (cpu: number) => `${(cpu * 100).toFixed(1)} % of a core`;
  return {
    rows: [
      ['RSS webhook-api: no stream', `${before.nowMb} MB`],
      [`  ${streams} open`, withTarget(`${idle.nowMb} MB`, '< 160 MB', idle.nowMb < 160)],
      [`  the same, after ${rate}/s`, withTarget(`${busy.nowMb} MB`, '< 160 MB', busy.nowMb < 160)],
      ['  peak', `${busy.peakMb} MB`],
      ['CPU webhook-api: nothing delivered', share(idle.cpu)],
      [`  ${rate}/s, each to ${streams / accounts} streams`, share(busy.cpu)],
      ['attempted → at the client, p50 / p99', `${ms(quantile(late, 0.5))} / ${ms(quantile(late, 0.99))}`],
      ['events at clients', `${late.length} of ${wanted}`],
    ],
    figures: { rate, seconds, before, idle, busy, events: late.length },
  };
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
