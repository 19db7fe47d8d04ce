/** An operator's work without SQL, through `npm run ops`, and a dump restored into an empty system. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openApi } from '@gatepost/testkit/api';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { freshDatabase } from '@gatepost/testkit/stores';
import { openSystem, type System } from '@gatepost/testkit/system';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { verify } from '@octokit/webhooks-methods';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const run = promisify(execFile);
const command = fileURLToPath(new URL('../infra/local/commands/command.ts', import.meta.url));
const quiet = ['--conditions=source', '--disable-warning=ExperimentalWarning'];

/** `npm run ops -- …` against a system. */
async function ops({ issuer, apiUrl, audience }: System, ...args: string[]): Promise<unknown> {
  const env = { ...process.env, ISSUER: issuer, WEBHOOK_API_URL: apiUrl, WEBHOOK_API_AUDIENCE: audience };
  const { stdout } = await run(process.execPath, [...quiet, command, 'infra/ops/main.ts', ...args, '--json'], { env });
  return JSON.parse(stdout);
}

test('waiting deliveries of a paused organization are in a dump, and are delivered once it is restored into an empty system', async () => {
  const receiver = stack.use(await openReceiver());
  const secret = 'kept under SECRETS_KEY';
  const env = { SECRETS_KEY: randomBytes(32).toString('base64') };
  const first = stack.use(await openSystem({ env }));
  const producer = stack.use(await openProducer(first.amqpUrl));
  const api = await openApi(first);
  const hook = await api.createHook({ url: receiver.url, secret });
  const pings = await until('its ping', async () => {
    const sent = await api.deliveries(hook);
    return sent.length === 1 && receiver.received.length;
  });
  expect(await ops(first, 'pause', 'acme')).toMatchObject({ paused_at: expect.any(String) });
  const guids: string[] = [];
  for (let n = 0; n < 3; n += 1) guids.push(await producer.publish({ body: { n } }));
  await until('three deliveries rest', async () => {
    const { waiting } = (await ops(first, 'status')) as { waiting: object[] };
    return waiting.some((one) => JSON.stringify(one).startsWith('{"reason":"paused","deliveries":3,'));
  });
  expect(await ops(first, 'find', guids[0]!)).toMatchObject({
    events: [{ organization: 'acme', hooks: [hook] }],
    deliveries: [],
    waiting: [{ reason: 'paused', hook_id: hook }],
  });
  const keysOf = async ({ issuer }: System) => {
    const { keys } = (await (await fetch(`${issuer}.well-known/jwks.json`)).json()) as { keys: { kid: string }[] };
    return keys.map(({ kid }) => kid).sort();
  };
  const keys = await keysOf(first);
  const file = join(mkdtempSync(join(tmpdir(), 'gatepost-dump-')), 'gatepost.dump');
  await run('pg_dump', ['--format=custom', '--file', file, first.databaseUrl]);
  await first.dispatcher.end('SIGTERM');

  const { url: databaseUrl } = stack.use(await freshDatabase());
  await run('pg_restore', ['--no-owner', '--exit-on-error', '--dbname', databaseUrl, file]);
  const wrong = { SECRETS_KEY: randomBytes(32).toString('base64') };
  await expect(openSystem({ databaseUrl, env: wrong })).rejects.toThrow(
    /ended with 78\n[\s\S]*SECRETS_KEY is not the key/,
  );
  // RabbitMQ's messages and Redis's keys are not restored.
  const second = stack.use(await openSystem({ databaseUrl, env }));
  expect(await keysOf(second)).toEqual(keys);
  expect(receiver.received).toHaveLength(pings);
  expect(await ops(second, 'resume', 'acme')).toEqual({ paused_at: null, deliveries: 3 });
  await until('all three', () => receiver.received.length === pings + 3);
  const sent = receiver.received.slice(pings);
  expect(sent.map(({ headers }) => headers['x-github-delivery']).sort()).toEqual(guids.toSorted());
  for (const { body, headers } of sent)
    expect(await verify(secret, body.toString(), headers['x-hub-signature-256']!)).toBe(true);
  const log = await openApi(second);
  await until('the log', async () => (await log.deliveries(hook)).length === 4);
});

test('the demo’s machine manages dead letters, logs, sealed secrets and organizations', async () => {
  const system = stack.use(await openSystem());
  const producer = stack.use(await openProducer(system.amqpUrl));
  const ids = [await producer.publish({ body: 'not json' }), await producer.publish({ body: 'nor this' })];
  const listed = async () => (await ops(system, 'dead-letters', 'list')) as { id: string; bytes: number }[];
  const letters = await until('both are dead letters', async () => {
    const all = await listed();
    return all.length === ids.length && all;
  });
  expect(letters).toMatchObject([{ reason: 'not_json' }, { reason: 'not_json' }]);
  expect(await ops(system, 'dead-letters', 'show', letters[0]!.id)).toMatchObject({ payload: 'not json' });
  expect(await ops(system, 'dead-letters', 'drop', letters[0]!.id)).toEqual({ dropped: 1 });
  expect(await ops(system, 'dead-letters', 'publish', '--all')).toEqual({ published: 1, left: 0 });
  await until('it has come back', async () => (await listed())[0]?.bytes === 'nor this'.length);
  expect(await ops(system, 'dead-letters', 'drop', '--reason', 'not_json', '--yes')).toEqual({ dropped: 1 });

  expect(await ops(system, 'reseal')).toEqual({ resealed: 0, unreadable: [] });
  const { opsUrl } = system.webhookApi;
  expect(await ops(system, 'log-level', opsUrl, 'http', 'debug')).toMatchObject({ levels: { http: 'debug' } });
  expect(await ops(system, 'log-level', opsUrl)).toMatchObject({ levels: { http: 'debug', stores: 'info' } });
  expect(await ops(system, 'organizations', 'delete', 'acme', '--dry-run')).toMatchObject({
    dry_run: true,
    repositories: 2,
  });
  expect(await ops(system, 'organizations', 'list')).toMatchObject([{ login: 'acme' }]);
  expect(await ops(system, 'organizations', 'delete', 'acme', '--yes')).toMatchObject({
    dry_run: false,
    repositories: 2,
  });
  expect(await ops(system, 'organizations', 'list')).toEqual([]);
});
