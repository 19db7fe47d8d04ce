/** Traces of a sign-in, at a collector that takes OTLP. */
import { randomBytes } from 'node:crypto';
import { openLog } from '@gatepost/runtime/log';
import { startTracing, tracing } from '@gatepost/runtime/tracing';
import { Browser } from '@gatepost/testkit/browser';
import { openCollector } from '@gatepost/testkit/collector';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { openGate } from './gate.ts';
import { seed } from './seeds.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const collector = stack.use(await openCollector());
const env = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_TRACES_SAMPLER: 'parentbased_always_on',
  OTEL_TRACES_SAMPLER_ARG: 1,
};
await startTracing('auth', env, openLog('test', 'silent'));
stack.defer(() => tracing?.close());
const log = openLogLines();
const gate = stack.use(await openGate(seed, {}, log));
const redirect_uri = 'https://app.example/cb';

test('one trace leads from the authorization request over login and consent to the tokens', async () => {
  const browser = new Browser(gate);
  const request = { client_id: 'third', redirect_uri, response_type: 'code', scope: 'openid email', state: 's' };
  const consent = await browser.logIn(await browser.authorize(request));
  const done = await browser.submit(consent, { action: 'accept' });
  const code = done.location!.searchParams.get('code')!;
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri,
    client_id: 'third',
    client_secret: 'third-secret',
  };
  expect((await gate.post('oauth/token', form)).status).toBe(200);

  const authorize = await until('the span of the request', () =>
    collector.spans.find(({ name }) => name === 'GET authorization'),
  );
  const spans = await collector.trace(authorize.traceId, 10);
  expect(spans.map(({ name, attributes }) => `${name} ${attributes['http.response.status_code']}`)).toEqual([
    'GET authorization 302',
    'GET /interaction/:uid 200',
    'POST /interaction/:uid/identifier 303',
    'GET /interaction/:uid/password 200',
    'POST /interaction/:uid/password 303',
    'GET resume 302',
    'GET /interaction/:uid 200',
    'POST /interaction/:uid/consent 303',
    'GET resume 302',
    'POST token 200',
  ]);
  const [root, ...others] = spans;
  expect(root!.parentSpanId).toBeUndefined();
  for (const { parentSpanId } of others) expect(parentSpanId).toBe(root!.spanId);
  // What the log says of it leads to the trace.
  const traced = log.lines.filter(({ trace_id }) => trace_id === root!.traceId);
  expect(traced.filter(({ message }) => message === 'request answered')).toHaveLength(spans.length);
  expect(traced.map(({ message }) => message)).toEqual(expect.arrayContaining(['somebody logged in', 'tokens issued']));
});

test('a trace that a client began is continued', async () => {
  const traceId = randomBytes(16).toString('hex');
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  await gate.post('oauth/token', { grant_type: 'nonsense' }, { traceparent });
  const [span] = await collector.trace(traceId, 1);
  expect(span).toMatchObject({ name: 'POST token', parentSpanId: '00f067aa0ba902b7', service: 'gatepost-auth' });
  // Neither a path nor what stands in a query is told.
  expect(Object.keys(span!.attributes).sort()).toEqual([
    'http.request.method',
    'http.response.status_code',
    'http.route',
  ]);
});
