/** One trace across all processes, at a collector that accepts OTLP. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '@gatepost/testkit/api';
import { openCollector } from '@gatepost/testkit/collector';
import { openReceiver } from '@gatepost/testkit/receiver';
import { openSystem } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const collector = stack.use(await openCollector());
const headers = join(mkdtempSync(join(tmpdir(), 'traces-')), 'headers');
writeFileSync(headers, 'authorization=Bearer%20of-the-collector\n');
const system = stack.use(
  await openSystem({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS_FILE: headers },
  }),
);
const api = await openApi(system);
const receiver = stack.use(await openReceiver());

test('a ping is in the trace of the request that asked for it, from the API through the dispatcher to the receiver', async () => {
  const hook = await api.createHook({ url: receiver.url });
  await until('the greeting', () => receiver.received.length === 1);
  const traceId = randomBytes(16).toString('hex');
  const pinged = await fetch(`${system.apiUrl}/repos/acme/widgets/hooks/${hook}/pings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await system.token()}`, traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
  });
  expect(pinged.status).toBe(204);
  await until('the ping', () => receiver.received.length === 2);
  const spans = await collector.trace(traceId, 3);
  // Their order is not told by their milliseconds.
  const [request, job, attempt] = [
    ['gatepost-webhook-api', 'POST /repos/{owner}/{repo}/hooks/{hook_id}/pings'],
    ['gatepost-dispatcher', 'handle a delivery job'],
    ['gatepost-dispatcher', 'deliver'],
  ].map(([service, name]) => spans.find((span) => span.service === service && span.name === name));
  expect([request, job, attempt]).not.toContain(undefined);
  expect([job!.parentSpanId, attempt!.parentSpanId]).toEqual([request!.spanId, job!.spanId]);
  const lines = system.webhookApi
    .output()
    .split('\n')
    .filter((line) => line.includes(traceId));
  expect(lines.map((line) => JSON.parse(line).message)).toEqual(['a delivery was requested', 'request']);
  expect(receiver.received[1]!.headers.traceparent).toBe(`00-${traceId}-${attempt!.spanId}-01`);
});

test('traces include the gate', async () => {
  await until('its token request', () =>
    collector.spans.find(({ service, name }) => service === 'gatepost-auth' && name === 'POST token'),
  );
});

test('the collector gets the token from a file, and no log has it', () => {
  expect(new Set(collector.authorizations)).toEqual(new Set(['Bearer of-the-collector']));
  const logs = [system.auth, system.webhookApi, system.dispatcher].map((service) => service.output()).join('\n');
  expect(logs).toContain('"OTEL_EXPORTER_OTLP_HEADERS":{"configured":true}');
  expect(logs).not.toContain('of-the-collector');
});
