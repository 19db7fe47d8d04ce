/**
 * Where the dispatcher's CPU time goes in a flood: its CPU profile, as text. Time is attributed to the running code, not to its callers:
 * packages by name, Node's own modules and their C++ by purpose, our code by file.
 */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openBenchSystem } from './bench-system.ts';
import type { Result } from './main.ts';
import { offer } from './offer.ts';
import { secret, startReceiver } from './receiver-process.ts';

const shown = 20;

export async function profile(options: Record<string, string | undefined>): Promise<Result> {
  const events = Number(options.events ?? 20_000);
  const fanOut = Number(options['fan-out'] ?? 1);
  const folder = mkdtempSync(join(tmpdir(), 'gatepost-profile-'));
  await using system = await openBenchSystem([{ login: 'acme', throttle: { rate: 1e6, burst: 1e6 } }]);
  using receiver = await startReceiver();
  const api = await openApi(system);
  for (let index = 0; index < fanOut; index += 1) await api.createHook({ url: `${receiver.url}?${index}`, secret });
  await system.dispatcher.end('SIGTERM');
  const dispatcher = await system.startDispatcher({ NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` });
  await using producer = await openProducer(system.amqpUrl);
  await receiver.ask('reset');
  await offer(producer, { rate: 100_000, total: Math.ceil(events / fanOut), subjects: ['acme/widgets'] });
  const deadline = performance.now() + 120_000;
  let received = 0;
  while (received < events && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    ({ received } = await receiver.ask<{ received: number }>('count'));
  }
  await dispatcher.end('SIGTERM');
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  const { busySeconds, groups } = groupsOf(JSON.parse(readFileSync(join(folder, file!), 'utf8')) as Profile);
  const perThousand = (seconds: number) => (seconds / received) * 1_000;
  return {
    rows: [
      ['deliveries', String(received)],
      ['busy s per 1,000, profiler included', perThousand(busySeconds).toFixed(3)],
      ...groups
        .slice(0, shown)
        .map(([group, seconds]): [string, string] => [
          `  ${group}`,
          `${((seconds / busySeconds) * 100).toFixed(1)} %  ${perThousand(seconds).toFixed(3)}`,
        ]),
    ],
    figures: { received, busySeconds, groups: Object.fromEntries(groups), file: join(folder, file!) },
  };
}

/** For a profile, or a part of it: microseconds of the monotonic clock. */
export function groupsOf(
  { nodes, samples, timeDeltas, startTime }: Profile,
  from = 0,
  to = Number.POSITIVE_INFINITY,
): { busySeconds: number; groups: [string, number][] } {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const groups = new Map<string, number>();
  let busySeconds = 0;
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index]!;
    if (at < from || at > to) continue;
    const group = groupOf(byId.get(id)!.callFrame, () => byId.get(parents.get(id) ?? 0)?.callFrame);
    if (group === undefined) continue;
    const seconds = timeDeltas[index]! / 1e6;
    busySeconds += seconds;
    groups.set(group, (groups.get(group) ?? 0) + seconds);
  }
  return { busySeconds, groups: [...groups].sort(([, a], [, b]) => b - a) };
}

type Frame = { functionName: string; url: string };
export type Profile = {
  startTime: number;
  nodes: { id: number; callFrame: Frame; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
};

/** The group that a frame's own time counts towards; undefined: nothing ran. */
function groupOf({ functionName, url }: Frame, caller: () => Frame | undefined): string | undefined {
  if (functionName === '(idle)' || functionName === '(root)') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === '(program)') return 'C++ without a caller: reading sockets, timers, the loop';
  const dependency = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1];
  if (dependency) return dependency;
  const own = /\/(services|packages)\/(.*)\/(?:dist|src)\/(.*)\.[jt]s$/.exec(url);
  if (own) return `ours: ${own[2]}/${own[3]}`;
  if (url.startsWith('node:')) return `node: ${areas.find(([pattern]) => pattern.test(url))?.[1] ?? 'other'}`;
  // C++: socket writes, hashes and parsers are grouped by name, the rest counts towards its caller.
  const native = natives.find(([pattern]) => pattern.test(functionName))?.[1];
  if (native) return `C++: ${native}`;
  const above = caller();
  return above && above.url !== '' ? groupOf(above, () => undefined) : `C++: ${functionName}`;
}

const areas: [RegExp, string][] = [
  [/_http|internal\/http/, 'http'],
  [/stream(?!_base)/, 'streams'],
  [/node:net|stream_base|_tls/, 'net, tls'],
  [/events|event_target/, 'events'],
  [/buffer|string_decoder/, 'buffers'],
  [/async_hooks|process|timers|queue|promise/, 'ticks, timers, promises'],
  [/url/, 'url'],
  [/crypto/, 'crypto'],
];

const natives: [RegExp, string][] = [
  [/^write(v|Buffer|Latin1String|Utf8String|UcsString|AsciiString)$/, 'socket writes'],
  [/^(update|digest|oneShotDigest|Hmac|Hash|init)$/, 'hashes'],
  [/^structuredClone$/, 'structuredClone'],
];
