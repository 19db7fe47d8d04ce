import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runChaos } from '../infra/chaos/chaos.ts';
import type { Say } from '../infra/local/commands/say.ts';

const silent: Say = { step: (_name, _detail, work) => work(), line() {}, about() {} };

test('nothing is lost while dispatchers, RabbitMQ, PostgreSQL and Redis are killed in turn, and the log is complete', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gatepost-chaos-'));
  try {
    await using stack = new AsyncDisposableStack();
    const context = { args: [], env: process.env, home, say: silent, signal: new AbortController().signal, stack };
    const verdict = await runChaos(context, {
      accounts: 20,
      seconds: 15,
      eventsPerSecond: 60,
      failingShare: 0,
      freezes: false,
      seed: Math.floor(Math.random() * 1_000_000),
    });
    expect(verdict).toMatchObject({ complaints: [], lost: 0, otherGuids: 0, missingInLog: 0, inventedInLog: 0 });
    expect(verdict.struck.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['dispatcher 1', 'dispatcher 2', 'RabbitMQ', 'PostgreSQL', 'Redis']),
    );
    expect(verdict.struck.every(({ times }) => times >= 1)).toBe(true);
    expect(verdict.deliveries).toBeGreaterThan(500);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}, 600_000); // lost deliveries are awaited for three minutes before they count as lost
