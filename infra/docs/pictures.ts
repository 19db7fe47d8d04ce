/**
 * `npm run docs:pictures`: the pictures of the console in docs/pictures, taken in Chromium of a running `npm start` or its own system during
 * deliveries: one receiver fails, one account is throttled, one poison event came in. Everything it created is removed again.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { launchOptions, patienceMs } from '@gatepost/testkit/chromium';
import { fillInLogin } from '@gatepost/testkit/console';
import { openReceiver } from '@gatepost/testkit/receiver';
import examples from '@octokit/webhooks-examples' with { type: 'json' };
import { type BrowserContext, chromium } from 'playwright-core';
import { publishEvents } from '../demo/producer.ts';
import { useSystem } from '../examples/system.ts';
import type { Context } from '../local/commands/command.ts';
import { readEnvFile } from '../local/commands/environment.ts';
import { rootFolder } from '../local/processes/home.ts';
import { Trouble } from '../local/processes/trouble.ts';
import { findChromium } from '../tests/programs.ts';

/** Where the system runs. */
export type Place = { gateUrl: string; apiUrl: string; audience: string; amqpUrl: string };

export default async function pictures({ env, home, say, signal, stack }: Context): Promise<number> {
  const executablePath = await findChromium({ env, say, signal });
  if (!executablePath) throw new Trouble('Pictures are taken in Chromium: install it, or set CHROMIUM_PATH.');
  const system = stack.use(await useSystem({ env, home, say, signal }));
  const written = { ...readEnvFile(system.home, 'services'), ...readEnvFile(system.home, 'producer') };
  const amqpUrl = written.PRODUCER_AMQP_URL ?? written.AMQP_URL;
  if (!amqpUrl) throw new Trouble(`There is no address of RabbitMQ in ${system.home}: was it started there?`);
  const [gateUrl, apiUrl] = ['http://localhost:4400/', 'http://localhost:4500'];
  const browser = stack.adopt(await chromium.launch({ ...launchOptions, executablePath }), (opened) => opened.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  await takePictures(
    { gateUrl, apiUrl, audience: `${apiUrl}/`, amqpUrl },
    context,
    join(rootFolder, 'docs/pictures'),
    say.line,
  );
  return 0;
}

/** Creates some activity, then takes the pictures. */
async function takePictures(
  place: Place,
  context: BrowserContext,
  folder: string,
  tell: (line: string) => void,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const call = await openApi(place);
  const { failing, chat } = await makeSomethingHappen(place, call, stack);
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  const open = (path: string) => page.goto(`${place.apiUrl}/console${path}`);
  const take = async (name: string) => {
    await page.mouse.move(0, 0);
    await page.screenshot({ path: join(folder, `console-${name}.png`) });
    tell(`  console-${name}.png`);
  };
  await open('/accounts/acme');
  await fillInLogin(page, 'admin@example.com');
  await page.getByText(chat).waitFor();
  await take('hooks');
  await open(failing);
  const failed = page.locator('.rows a', { hasText: 'Invalid HTTP response' }).first();
  await failed.waitFor();
  await take('deliveries');
  await failed.click();
  await page.getByRole('region', { name: 'What happened' }).waitFor();
  await take('delivery');
  await open('/dead-letters');
  await page.getByRole('link', { name: 'Not JSON' }).first().click();
  await page.getByText('Fix the producer.').waitFor();
  await take('dead-letter');

  const limit = await call<object>('GET', '/accounts/acme/throttle');
  stack.defer(() => call('PUT', '/accounts/acme/throttle', limit));
  await call('PUT', '/accounts/acme/throttle', { rate: 2, burst: 2 });
  await publishEvents(place.amqpUrl, Array.from({ length: 80 }, someEvent));
  await wait(65_000); // the counts of waiting deliveries are taken at the end of a minute
  await open('/accounts/acme?tab=throttle');
  await page.getByText('the oldest since').first().waitFor();
  await page.locator('canvas').nth(1).waitFor();
  await take('throttle');
  await open('/');
  await page.locator('canvas').nth(1).waitFor();
  await take('overview');
}

/** Creates hooks, a stream of events to them, and a dead letter, all removed by the stack. Returns the page and the URL of the failing hook. */
async function makeSomethingHappen(
  place: Place,
  call: Awaited<ReturnType<typeof openApi>>,
  stack: AsyncDisposableStack,
): Promise<{ failing: string; chat: string }> {
  const receiver = stack.use(await openReceiver());
  receiver.behave(({ path }) =>
    path === '/chat'
      ? {
          status: 500,
          body: '{"error":"the disk is full"}',
          headers: { 'content-type': 'application/json' },
          delayMs: 90,
        }
      : { delayMs: 20 + Math.floor(Math.random() * 60) },
  );
  const hook = async (at: string, path: string, events: string[]): Promise<string> => {
    const config = { url: receiver.url + path, content_type: 'json', secret: randomUUID() };
    const { id } = await call<{ id: number }>('POST', `${at}/hooks`, { config, events });
    stack.defer(() => call('DELETE', `${at}/hooks/${id}`));
    return `${at}/hooks/${id}`;
  };
  await hook('/repos/acme/widgets', '/build', ['push', 'pull_request']);
  const failing = await hook('/repos/acme/widgets', '/chat', ['issues', 'push']);
  await hook('/repos/acme/gadgets', '/deploy', ['push']);
  await hook('/orgs/acme', '/audit', ['*']);
  for (let round = 0; round < rounds; round++) {
    await publishEvents(place.amqpUrl, Array.from({ length: 1 + (round % 7) }, someEvent));
    await wait(1_000);
  }
  await publishEvents(place.amqpUrl, [{ ...someEvent(), body: Buffer.from('{"ref": "refs/heads/main"') }]);
  stack.defer(() => call('DELETE', '/admin/dead-letters?reason=not_json'));
  return { failing, chat: `${receiver.url}/chat` };
}

/** Seconds of events before the first picture. */
const rounds = 100;

type Examples = { name: string; examples: object[] }[];

let made = 0;

/** One of GitHub's own example events, for acme/widgets and acme/gadgets in turn. */
function someEvent() {
  const type = ['push', 'issues', 'push', 'pull_request'][made++ % 4]!;
  const payload = (examples as unknown as Examples).find(({ name }) => name === type)!.examples[0];
  const subject = made % 3 === 0 ? 'acme/gadgets' : 'acme/widgets';
  return { id: randomUUID(), type, subject, body: Buffer.from(JSON.stringify(payload)) };
}

/** Calls the webhook API as the demo's administrator. */
async function openApi({ gateUrl, apiUrl, audience }: Place) {
  const response = await fetch(`${gateUrl}oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-admin',
      client_secret: 'demo-admin-secret',
      audience,
    }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Trouble(`${method} ${path} was answered with ${answer.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
}
