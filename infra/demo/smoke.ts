/**
 * The smoke test, the main job end to end on real input: a machine gets a token from the gate and registers a webhook, a producer
 * publishes two of GitHub's own example events, the receiver gets the deliveries and verifies them, the log shows them. Prints a line per
 * step; exits with 0 only if every step succeeded.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import examples from '@octokit/webhooks-examples' with { type: 'json' };
import { publishEvents } from './producer.ts';
import { openDemoReceiver } from './receiver.ts';

// The services' addresses differ from their own names for themselves only inside containers.
const gate = (process.env.GATE_URL ?? process.env.ISSUER ?? 'http://localhost:4400/').replace(/\/?$/, '/');
const api = (process.env.WEBHOOK_API_URL ?? `http://localhost:${process.env.WEBHOOK_API_PORT ?? 4500}`).replace(
  /\/$/,
  '',
);
const audience = process.env.WEBHOOK_API_AUDIENCE ?? 'http://localhost:4500/';
const amqpUrl = process.env.PRODUCER_AMQP_URL ?? process.env.AMQP_URL ?? 'amqp://guest:guest@127.0.0.1:5672';
const hooksUrl = `${api}/repos/acme/widgets/hooks`;
const deliveryWaitMs = 30_000;

const secret = randomBytes(24).toString('base64url');
const events = [
  { id: randomUUID(), type: 'issues', subject: 'acme/widgets', body: example('issues') },
  { id: randomUUID(), type: 'push', subject: 'acme/widgets', body: example('push') },
];

await using receiver = await openDemoReceiver(secret, process.env.DEMO_RECEIVER_HOST ?? '127.0.0.2');
const startedAt = performance.now();
try {
  const token = await step('the gate gives demo-m2m an access token', () => getToken());
  const hook = await step('the webhook API registers a hook on acme/widgets', () => createHook(token));
  try {
    await step('RabbitMQ takes an `issues` and a `push` event', () => publishEvents(amqpUrl, events));
    for (const event of events) {
      await step(`the receiver gets \`${event.type}\`, byte for byte, signature verified`, () => checkDelivery(event));
    }
    await step('the delivery log shows both as OK', () => checkLog(token, hook));
  } finally {
    await call(`${hooksUrl}/${hook}`, { method: 'DELETE', headers: bearer(token) });
  }
  console.log(`  smoke passed in ${Math.round(performance.now() - startedAt)} ms`);
} catch (error) {
  console.log(`  smoke FAILED: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const from = performance.now();
  try {
    const result = await work();
    console.log(`  ✓ ${what.padEnd(66)} ${String(Math.round(performance.now() - from)).padStart(5)} ms`);
    return result;
  } catch (error) {
    console.log(`  ✗ ${what}`);
    throw error;
  }
}

async function getToken(): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'demo-m2m',
    client_secret: 'demo-m2m-secret',
    audience,
  });
  const answer = (await call(`${gate}oauth/token`, { method: 'POST', body })) as { access_token: string };
  return answer.access_token;
}

async function createHook(token: string): Promise<number> {
  const answer = (await call(hooksUrl, {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: JSON.stringify({
      config: { url: receiver.url, content_type: 'json', secret },
      events: events.map((event) => event.type),
    }),
  })) as { id: number };
  return answer.id;
}

async function checkDelivery(event: (typeof events)[number]): Promise<void> {
  const delivery = await receiver.waitFor(event.id, deliveryWaitMs);
  if (!delivery.verified) throw new Error(`the signature of ${event.type} does not match`);
  if (delivery.event !== event.type) throw new Error(`X-GitHub-Event says ${delivery.event}, not ${event.type}`);
  if (delivery.body !== event.body.toString('utf8'))
    throw new Error(`the body of ${event.type} is not what was published`);
}

async function checkLog(token: string, hook: number): Promise<void> {
  const deadline = performance.now() + deliveryWaitMs;
  for (;;) {
    const log = (await call(`${hooksUrl}/${hook}/deliveries`, { headers: bearer(token) })) as {
      guid: string;
      status: string;
    }[];
    const states = events.map((event) => log.find((delivery) => delivery.guid === event.id)?.status);
    if (states.every((status) => status === 'OK')) return;
    if (performance.now() > deadline)
      throw new Error(`the delivery log says ${states.map((status) => status ?? 'nothing').join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function call(url: string, options: RequestInit): Promise<unknown> {
  const response = await fetch(url, { ...options, signal: AbortSignal.timeout(10_000) }).catch((error: Error) => {
    throw new Error(
      `${new URL(url).origin} does not answer (${(error.cause as Error | undefined)?.message ?? error.message})`,
    );
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${options.method ?? 'GET'} ${url} answered ${response.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'user-agent': 'gatepost-smoke' };
}

function example(name: string): Buffer {
  // The package's typings describe its CommonJS form, where the module itself is the list.
  const list = examples as unknown as { name: string; examples: object[] }[];
  const found = list.find((entry) => entry.name === name);
  if (!found?.examples[0]) throw new Error(`no example of ${name}`);
  return Buffer.from(JSON.stringify(found.examples[0]));
}
