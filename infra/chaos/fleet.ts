/** The dispatchers, and what `npm start` is to them: one that ends without being told to is started again, and counted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service, System } from '@gatepost/testkit/system';

export type Fleet = AsyncDisposable & {
  size: number;
  /** Kills one and starts another in its place, at once. */
  kill(index: number): Promise<void>;
  revive(index: number): Promise<void>;
  /** How often one ended without being told to, each with the end of its output. */
  deaths: string[];
};

const restartPauseMs = 300;

export async function openFleet(system: System, size: number): Promise<Fleet> {
  const deaths: string[] = [];
  const members: (Service | undefined)[] = [];
  let closing = false;

  const watch = async (index: number, service: Service) => {
    members[index] = service;
    const code = await service.ended;
    if (closing || members[index] !== service) return;
    members[index] = undefined;
    deaths.push(`dispatcher ${index + 1} ended with ${code}:\n${lastWords(service)}`);
    await start(index);
  };
  const start = async (index: number) => {
    while (!closing && members[index] === undefined) {
      try {
        const service = await system.startDispatcher();
        void watch(index, service);
      } catch {
        // What it starts with is away; a supervisor goes on trying.
        await sleep(restartPauseMs);
      }
    }
  };

  void watch(0, system.dispatcher);
  for (let index = 1; index < size; index += 1) await start(index);
  return {
    size,
    deaths,
    async kill(index) {
      const service = members[index];
      members[index] = undefined;
      await service?.end('SIGKILL');
    },
    revive: start,
    async [Symbol.asyncDispose]() {
      closing = true; // the system ends its services itself
    },
  };
}

/** What a service said last: its errors, and its last line. */
export function lastWords(service: Service): string {
  const lines = service.output().trimEnd().split('\n');
  const errors = lines.filter((line) => line.includes('"level":"error"') || !line.startsWith('{'));
  return [...new Set([...errors.slice(-3), ...lines.slice(-1)])].map((line) => line.slice(0, 1_500)).join('\n');
}
