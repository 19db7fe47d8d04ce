/** The dispatchers, supervised as by `npm start`: one that ends unexpectedly is restarted and counted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service, System } from '@gatepost/testkit/system';

export type Fleet = AsyncDisposable & {
  size: number;
  /** Kills one and starts another in its place, at once. */
  kill(index: number): Promise<void>;
  revive(index: number): Promise<void>;
  /** One entry for each unexpected end, with the last of its output. */
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
        // A store it needs to start is down; a supervisor keeps trying.
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

/** A service's last output: its errors and its last line. */
export function lastWords(service: Service): string {
  const lines = service.output().trimEnd().split('\n');
  const errors = lines.filter((line) => line.includes('"level":"error"') || !line.startsWith('{'));
  return [...new Set([...errors.slice(-3), ...lines.slice(-1)])].map((line) => line.slice(0, 1_500)).join('\n');
}
