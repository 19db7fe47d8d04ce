/// <reference lib="dom" />
/** The console in Chromium when something is wrong: one receiver fails, one account floods, a poison event came in, the API is down. */

import { faultsOf, fillInLogin, openConsole, signIn } from '@gatepost/testkit/console';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const { system, url: console, openPage } = stack.use(await openConsole());
const producer = stack.use(await openProducer(system.amqpUrl));
const admin = 'admin@example.com';

/** Creates a hook of acme/gadgets through the API; returns its address in the console. */
async function makeHook(url: string, options: object = {}): Promise<string> {
  const made = await fetch(`${system.apiUrl}/repos/acme/gadgets/hooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${await system.token()}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ config: { url, content_type: 'json' }, ...options }),
  });
  const { id } = (await made.json()) as { id: number };
  return `${console}repos/acme/gadgets/hooks/${id}`;
}

async function makeMember(role: 'admin' | 'member'): Promise<void> {
  const changed = await fetch(`${system.apiUrl}/orgs/acme/memberships/${encodeURIComponent('auth0|alice')}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${await system.token()}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ role }),
  });
  expect(changed.status).toBe(200);
}

/** Navigates within the same page, without reloading it. */
const follow = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).click();

/** The page also retries by itself: the button may go before it is pressed. */
async function tryAgain(page: Page, away: Locator): Promise<void> {
  await until('it answers', async () => {
    const pressed = page.getByRole('button', { name: 'Try again' }).click({ timeout: 1_000 });
    await pressed.catch(() => {});
    return !(await away.isVisible());
  });
}

test('deliveries appear live, and failed ones are selected and delivered again', async () => {
  await using receiver = await openReceiver({ behave: { status: 500, body: 'the disk is full' } });
  const page = await openPage();
  await signIn(page, await makeHook(`${receiver.url}/live`, { retry: 'off' }));
  await page.getByText('live', { exact: true }).waitFor();
  const [first, second] = [
    await producer.publish({ subject: 'acme/gadgets' }),
    await producer.publish({ subject: 'acme/gadgets' }),
  ];
  const row = (guid: string) => page.getByRole('listitem').filter({ hasText: guid });
  await row(first).getByText('Invalid HTTP response').waitFor();
  await row(second).waitFor();
  expect(await faultsOf(page)).toEqual([]);

  receiver.behave({});
  for (const guid of [first, second]) await row(guid).getByRole('checkbox').press('Space'); // by keyboard
  await page.getByText('2 selected').waitFor();
  await page.getByRole('button', { name: 'Redeliver' }).click();
  await page.getByText('Redeliver 2 deliveries?').waitFor();
  await page.getByRole('dialog').or(page.getByRole('alertdialog')).getByRole('button', { name: 'Redeliver' }).click();
  await page.getByText('2 of 2 are being redelivered').waitFor();
  await until('both again', async () => (await row(first).count()) === 2 && (await row(second).count()) === 2);
  await row(first).getByText('redelivery').waitFor();
  expect(await faultsOf(page)).toEqual([]);

  await follow(page, 'Overview');
  await page.getByText('40 %', { exact: true }).first().waitFor(); // the ping failed too
  // Charts may appear in any order.
  await page.getByRole('figure', { name: 'Delivered and failed per minute' }).getByText('As a table').click();
  await page.getByRole('region', { name: 'Delivered and failed per minute, as a table' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
});

test('a limit that is typed while another is being saved stays, and is not left without a question', async () => {
  const page = await openPage();
  await signIn(page, `${console}accounts/acme?tab=throttle`, admin);
  const rate = page.getByLabel('Deliveries per second');
  const answer = Promise.withResolvers<void>();
  await page.route(`${system.apiUrl}/accounts/acme/throttle`, async (route) => {
    await answer.promise;
    await route.continue();
  });
  await rate.fill('200');
  await page.getByRole('button', { name: 'Change the limit' }).click();
  await rate.fill('300');
  answer.resolve();
  await page.getByText('200 deliveries per second').waitFor();
  expect(await rate.inputValue()).toBe('300');
  await follow(page, 'Hooks');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Stay here' }).click();
  await page.getByRole('button', { name: 'Reset to default' }).click();
  await page.getByRole('button', { name: 'Reset limit' }).click();
  await page.getByText('100 deliveries per second').waitFor();
  expect(await rate.inputValue()).toBe('100');
  await follow(page, 'Hooks'); // without a question
  await page.getByLabel('Find a hook').waitFor();
});

test('an administrator of the site sees all of it, throttles an account, and watches it drain', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  await makeHook(`${receiver.url}/flooded`, { events: ['push'] });
  await signIn(page, console, admin);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByText('Running dispatchers').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.goto(`${console}accounts/nobody`);
  await page.getByText('There is no account called nobody').waitFor();
  await page.getByRole('link', { name: 'Go to the accounts' }).click();
  await page.getByRole('link', { name: 'acme' }).click();
  await page.getByText(`${receiver.url}/flooded`).waitFor();
  await page.getByRole('button', { name: 'Failing' }).click();
  await page.getByText('No failing hooks').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.getByText(`${receiver.url}/flooded`).waitFor();
  await page.getByLabel('Find a hook').fill('no such receiver');
  await page.getByText('No hooks match').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await follow(page, 'Throttle');
  await page.getByText('100 deliveries per second').waitFor();
  await page.getByLabel('Deliveries per second').fill('0.5');
  await page.getByLabel('Burst').fill('1');
  await page.getByRole('button', { name: 'Change the limit' }).click();
  await page.getByText('Changed. The new limit applies immediately.').waitFor();
  await page.getByText('0.5 deliveries per second').waitFor();
  for (let sent = 0; sent < 30; sent++) await producer.publish({ subject: 'acme/gadgets' });
  const limit = page.getByRole('region', { name: 'Limit', exact: true });
  await limit.getByRole('status').getByText('the oldest since').waitFor();
  await page.getByRole('region', { name: 'Waiting deliveries' }).getByText('Throttled').first().waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Reset to default' }).click();
  await page.getByRole('button', { name: 'Reset limit' }).click();
  // Retries and paused deliveries may wait meanwhile, which the page lists below.
  await limit.getByText('Waiting for the limit').waitFor();
  await limit.getByText('nothing', { exact: true }).waitFor();
  await until(
    'all of it',
    () => receiver.received.filter(({ headers }) => headers['x-github-event'] === 'push').length >= 30,
  );

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Pause deliveries' }).click();
  await page.getByText('Deliveries of acme have been paused').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();

  for (const [address, said] of [
    ['accounts/nobody?tab=throttle', 'There is no account called nobody'],
    ['accounts/acme?tab=none&status=none&range=none', 'flooded'],
    ['gate/log?kind=none', 'Success Login'],
    ['repos/acme/nothing/hooks/new', 'Not found'],
  ] as const) {
    await page.goto(console + address);
    await page.getByText(said).first().waitFor();
  }
});

test('an invalid event is a dead letter that says why, is published again, comes back, and is deleted', async () => {
  const page = await openPage({ viewport: { width: 375, height: 700 }, colorScheme: 'dark' });
  await signIn(page, `${console}dead-letters`, admin);
  await page.getByText('There are no dead letters').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  const id = await producer.publish({ subject: 'acme/gadgets', body: 'this is no JSON' });
  const letter = page.getByRole('link', { name: 'Not JSON' });
  await letter.waitFor(); // appears by itself
  expect(await faultsOf(page)).toEqual([]);
  await letter.click();
  await page.getByText('this is no JSON').waitFor();
  await page.getByText(id).first().waitFor();
  await page.getByText('it will be refused again').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Publish again' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Publish again' }).click();
  await letter.waitFor();
  await page.getByRole('checkbox', { name: 'Select all shown' }).press('Space');
  await page.getByRole('button', { name: 'Delete' }).click();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There are no dead letters').waitFor();
});

/** Code that the page runs between itself and a hook's stream: it delays, drops, adds and cuts. */
const betweenTheStream = `(() => {
  const proxy = { holds: false, drops: false, streams: new Set(), cut() { for (const stream of proxy.streams) stream.error(new Error('cut')); },
    add(text) { for (const stream of proxy.streams) stream.enqueue(new TextEncoder().encode(text)); } };
  window.proxy = proxy;
  const real = window.fetch;
  window.fetch = async (...asked) => {
    const response = await real(...asked);
    if (!String(asked[0]).endsWith('/deliveries/stream') || !response.ok) return response;
    const reader = response.body.getReader();
    const body = new ReadableStream({
      async start(stream) {
        proxy.streams.add(stream);
        for (let part = await reader.read(); !part.done; part = await reader.read())
          if (!proxy.holds && !proxy.drops) stream.enqueue(part.value);
        stream.close();
      },
    });
    return new Response(body, response);
  };
})()`;

test('the list is read when the stream breaks, is held back by a proxy or has a gap, and nothing is missing', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  await page.addInitScript(betweenTheStream);
  await signIn(page, await makeHook(`${receiver.url}/cut-off`, { events: ['push'] }));
  const row = (guid: string) => page.getByRole('listitem').filter({ hasText: guid });
  const live = page.getByText('live', { exact: true });
  await live.waitFor();

  // The stream is open but brings nothing: new entries are read as soon as a gap is reported.
  await page.evaluate('proxy.drops = true');
  const unseen = await producer.publish({ subject: 'acme/gadgets' });
  await until('the delivery', () => receiver.received.some(({ headers }) => headers['x-github-delivery'] === unseen));
  await until('its row, of a gap', async () => {
    await page.evaluate(`proxy.add('event: gap\\ndata: {"reason":"too_many"}\\n\\n')`);
    return (await row(unseen).count()) === 1;
  });
  expect(await live.isVisible()).toBe(true);

  // The stream is cut, and the next ones connect but are held back: the list is read instead.
  await page.evaluate('proxy.drops = false; proxy.holds = true; proxy.cut()');
  await page.getByText('updated every 3 s').waitFor();
  await row(await producer.publish({ subject: 'acme/gadgets' })).waitFor();
  expect(await live.isVisible()).toBe(false);
  expect(await faultsOf(page)).toEqual([]);
  await page.evaluate('proxy.holds = false');
  await until('it is live again', async () => {
    await page.evaluate('proxy.cut()');
    return live
      .waitFor({ timeout: 5_000 })
      .then(() => true)
      .catch(() => false);
  });
  await row(await producer.publish({ subject: 'acme/gadgets' })).waitFor();
});

test('a list first opened while nobody answers is read once somebody does', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/away`);
  await signIn(page, `${hook}?tab=verify`);
  const away = page.getByRole('alert').filter({ hasText: 'The webhook API is not responding' });
  const ping = page.locator('.rows a', { hasText: 'ping' });
  await page.getByLabel('Secret').waitFor();
  await page.route('**/deliveries**', (route) => route.abort());
  await follow(page, 'Deliveries');
  await away.waitFor();
  await page.unroute('**/deliveries**');
  await ping.waitFor();

  await page.goto(`${console}accounts/acme?tab=repositories`);
  await page.getByRole('listitem').filter({ hasText: 'widgets' }).waitFor();
  await page.context().setOffline(true);
  await until('it is', () => page.evaluate<boolean>("fetch('/console/').then(() => false, () => true)"));
  await follow(page, 'Hooks');
  await away.waitFor();
  await page.context().setOffline(false);
  await page.getByRole('link', { name: `${receiver.url}/away` }).waitFor();
});

test('actions that a person may not do are not offered', async () => {
  const page = await openPage();
  await signIn(page, `${console}accounts/acme?tab=throttle`);
  await page.getByText('deliveries per second').waitFor();
  expect(await page.getByRole('button', { name: 'Change the limit' }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Dead letters' }).count()).toBe(0);
  const hook = await makeHook('http://127.0.0.2:9/of-admins');
  await makeMember('member');
  await page.goto(`${console}accounts/acme`);
  await page.getByText('Only admins can see the hooks of this organization').waitFor();
  await page.getByRole('region', { name: 'Admins' }).getByText('demo-m2m').waitFor();
  await page.getByRole('region', { name: 'Members' }).getByText('auth0|alice').waitFor();
  expect(await page.locator('#content a, #content button').count()).toBe(0);
  expect(await faultsOf(page)).toEqual([]);
  for (const [address, said] of [
    [hook, 'Not found'],
    [`${hook}/deliveries/1`, 'Not found'],
    [`${console}accounts/acme?tab=throttle`, 'Only admins can see the hooks of this organization'],
    [`${console}repos/acme/widgets/hooks/new`, 'Only admins of acme can create hooks'],
    [`${console}orgs/elsewhere/hooks/new`, 'Only admins of elsewhere can create hooks'],
    [`${console}accounts/elsewhere`, 'You are not a member of this organization'],
    [`${console}dead-letters`, 'Only administrators of the installation can see this page'],
    [`${console}dead-letters/1`, 'Only administrators of the installation can see this page'],
  ] as const) {
    await page.goto(address);
    await page.getByText(said).waitFor();
    expect(await page.locator('#content').locator('button, input').filter({ hasNotText: 'Try again' }).count()).toBe(0);
  }
  expect(await faultsOf(page)).toEqual([]);
  await makeMember('admin');
});

test('typed text stays when the session ends or the API does not answer, and is sent after signing in again', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const refreshTokens: string[] = [];
  page.on('response', async (response) => {
    if (!response.url().endsWith('/oauth/token')) return;
    const body = await response.json().catch(() => undefined);
    if (body) refreshTokens.push((body as { refresh_token: string }).refresh_token);
  });
  await page.clock.install();
  await signIn(page, `${await makeHook(`${receiver.url}/typed`, { events: ['push'] })}?tab=settings`);
  await page.getByLabel('Payload URL').fill(`${receiver.url}/typed-anew`);

  await page.route(`${system.apiUrl}/**`, (route) => route.abort());
  await page.clock.fastForward('01:00'); // something is reloaded
  await page.getByText('The webhook API is not responding. What you see may be out of date').waitFor();
  expect(await page.getByLabel('Payload URL').inputValue()).toBe(`${receiver.url}/typed-anew`);
  expect(await faultsOf(page)).toEqual([]);
  await page.unroute(`${system.apiUrl}/**`);
  await tryAgain(page, page.getByText('What you see may be out of date'));

  const token = refreshTokens.at(-1)!;
  const form = { client_id: 'gatepost-console', token };
  await fetch(`${system.issuer}oauth/revoke`, { method: 'POST', body: new URLSearchParams(form) });
  await page.context().clearCookies();
  await page.clock.fastForward('02:00:00'); // longer than an access token lives; something is reloaded
  const ended = page.getByRole('alertdialog', { name: 'Your session has ended' });
  await ended.waitFor();
  expect(await faultsOf(page)).toEqual([]);
  const opened = page.waitForEvent('popup');
  await ended.getByRole('button', { name: 'Sign in again' }).click();
  await fillInLogin(await opened, 'alice@example.com');
  await until('it goes on', async () => !(await ended.isVisible()));
  expect(await page.getByLabel('Payload URL').inputValue()).toBe(`${receiver.url}/typed-anew`);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('heading', { name: `${receiver.url}/typed-anew` }).waitFor();
});

test('an API that refuses every token says why, and nobody is sent round and round', async () => {
  const page = await openPage();
  await signIn(page, `${console}accounts/acme`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  const left: string[] = [];
  page.on('framenavigated', (frame) => left.push(frame.url()));
  const description = 'The token was issued by another issuer than the one expected';
  const headers = { 'www-authenticate': `Bearer error="invalid_token", error_description="${description}"` };
  const refuse = { status: 401, headers, json: { message: 'Bad credentials' } };
  await page.route(`${system.apiUrl}/orgs/**`, (route) => route.fulfill(refuse));
  await follow(page, 'Repositories');
  await page.getByText(description).first().waitFor();
  expect(left.filter((url) => !url.startsWith(console))).toEqual([]);
  expect(await faultsOf(page)).toEqual([]);
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await page.getByRole('listitem').filter({ hasText: 'widgets' }).waitFor();
});

test('an expired session leads to the sign-in page and back, and an API that is away is reported and waited for', async () => {
  const page = await openPage();
  const refreshTokens: string[] = [];
  page.on('response', async (response) => {
    if (!response.url().endsWith('/oauth/token')) return;
    const body = await response.json().catch(() => undefined); // responses of an abandoned page are not kept
    if (body) refreshTokens.push((body as { refresh_token: string }).refresh_token);
  });
  await page.clock.install();
  await signIn(page, `${console}accounts/acme`);
  await page.getByLabel('Find a hook').waitFor();
  const before = refreshTokens.length;
  await page.clock.fastForward('02:00:00'); // longer than an access token lives
  await follow(page, 'Overview');
  await page.getByText('Success rate').first().waitFor();
  await until('another token', () => refreshTokens.length > before);
  await fetch(`${system.issuer}oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'gatepost-console', token: refreshTokens.at(-1)! }),
  });
  await page.context().clearCookies();
  await page.clock.fastForward('02:00:00');
  await page.waitForSelector('[name=identifier]');
  await page.fill('[name=identifier]', 'alice@example.com');
  await page.click('.gp-main');
  await page.fill('[name=password]', 'correct horse battery staple');
  await page.click('.gp-main');
  await page.waitForURL('**/accounts/acme?tab=overview');
  await page.getByText('Success rate').first().waitFor();

  await page.context().setOffline(true);
  await page.clock.fastForward('00:10');
  await page.getByText('You are offline').waitFor();
  await page.context().setOffline(false);
  await until('online again', async () => !(await page.getByText('You are offline').isVisible()));
  await system.webhookApi.end('SIGTERM');
  await page.clock.fastForward('01:00');
  await page.getByText('The webhook API is not responding').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  const { port } = new URL(console);
  await system.startWebhookApi({ WEBHOOK_API_PORT: port });
  await tryAgain(page, page.getByText('The webhook API is not responding'));
});
