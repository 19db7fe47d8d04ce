import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runChaos } from '../infra/chaos/chaos.ts';
import type { Say } from '../infra/local/commands/say.ts';
import { findProgram } from '../infra/local/processes/programs.ts';
import { rabbitmq } from '../infra/local/stores/rabbitmq.ts';

const silent: Say = { step: (_name, _detail, work) => work(), line() {}, about() {} };

test('a cluster of which one node is killed and another cut off loses nothing, and the log is complete', async () => {
  if (!findProgram(rabbitmq.programs())) return; // in a container there is one node
  const home = mkdtempSync(join(tmpdir(), 'gatepost-cluster-'));
  try {
    await using stack = new AsyncDisposableStack();
    const context = { args: [], env: process.env, home, say: silent, signal: new AbortController().signal, stack };
    const verdict = await runChaos(context, {
      accounts: 20,
      seconds: 1, // each of these once
      eventsPerSecond: 60,
      failingShare: 0,
      freezes: false,
      cluster: true,
      only: ['RabbitMQ 1', 'RabbitMQ 2 cut off'],
      seed: Math.floor(Math.random() * 1_000_000),
    });
    expect(verdict).toMatchObject({ complaints: [], lost: 0, otherGuids: 0, missingInLog: 0, inventedInLog: 0 });
    expect(verdict.struck.map(({ name, times }) => [name, times])).toEqual(
      expect.arrayContaining([
        ['RabbitMQ 1', 1],
        ['RabbitMQ 2 cut off', 1],
      ]),
    );
    expect(verdict.deliveries).toBeGreaterThan(100);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}, 600_000); // what is lost is waited for, for three minutes, before it counts as lost
