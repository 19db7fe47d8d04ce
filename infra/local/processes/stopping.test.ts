/** Each program waits longer for another to stop than that one takes, at any timeout of an attempt. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dispatcherStopMs, gateStopMs, handsEmptyMs, stopMs } from '@gatepost/contracts/stopping';
import { describe, expect, test } from '@jest/globals';
import { rootFolder } from './home.ts';
import { serviceStopMs } from './services.ts';

const graces = [...readFileSync(join(rootFolder, 'docker-compose.yml'), 'utf8').matchAll(/stop_grace_period: (\S+)/g)];

/** As compose reads it: variables first, then a duration in several units. */
function graceMs(text: string, env: Record<string, string>): number {
  const value = text.replaceAll(
    /\$\{(\w+):-(\w+)\}/g,
    (_all, name: string, otherwise: string) => env[name] ?? otherwise,
  );
  expect(value).toMatch(/^(\d+(ms|s))+$/);
  return [...value.matchAll(/(\d+)(ms|s)/g)].reduce(
    (sum, [, n, unit]) => sum + Number(n) * (unit === 's' ? 1_000 : 1),
    0,
  );
}

describe.each([1, 10_000, 18_001, 60_000, 600_000])('with DELIVERY_TIMEOUT_MS=%d', (timeoutMs) => {
  const env = { DELIVERY_TIMEOUT_MS: String(timeoutMs) };

  test('an attempt ends before the dispatcher gives up, and it gives up before it is killed', () => {
    expect(handsEmptyMs(timeoutMs)).toBeGreaterThan(timeoutMs);
    expect(dispatcherStopMs(timeoutMs)).toBeGreaterThan(handsEmptyMs(timeoutMs));
  });

  test('`npm start` waits longer than the dispatcher, and than any other service', () => {
    expect(serviceStopMs).toBeGreaterThan(dispatcherStopMs(timeoutMs));
    expect(serviceStopMs).toBeGreaterThan(Math.max(stopMs, gateStopMs));
  });

  test('so does docker compose', () => {
    const [ofServices, ofDispatchers] = graces.map(([, text]) => graceMs(text!, env));
    expect(ofServices).toBeGreaterThan(Math.max(stopMs, gateStopMs));
    expect(ofDispatchers).toBeGreaterThan(dispatcherStopMs(timeoutMs));
  });
});
