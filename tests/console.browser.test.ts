/// <reference lib="dom" />
/** The console in Chromium, against the whole system, as an admin and a member use it. */
import { createHmac } from 'node:crypto';
import { faultsOf, openConsole, signIn } from '@gatepost/testkit/console';
import { openProducer } from '@gatepost/testkit/producer';
import { openReceiver } from '@gatepost/testkit/receiver';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import type { Locator, Response } from 'playwright-core';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const { system, url: console, openPage } = stack.use(await openConsole());
const producer = stack.use(await openProducer(system.amqpUrl));

test('an admin creates a hook, watches deliveries arrive, reads why one failed, and has it delivered again', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await signIn(page, console);
  await page.waitForURL('**/accounts/acme'); // her only one
  await page.getByText('Alice Example').waitFor();
  await page.getByText('There are no hooks yet').waitFor();
  expect(await faultsOf(page)).toEqual([]);

  await page.getByRole('link', { name: 'Repositories' }).click();
  const widgets = page.getByRole('listitem').filter({ hasText: 'widgets' });
  await widgets.waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await widgets.getByRole('link', { name: 'New hook' }).click();
  await page.getByLabel('Payload URL').fill(`${receiver.url}/hook`);
  await page.getByLabel('Find an event').fill('issue was opened');
  await page.getByText('issues', { exact: true }).click();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: `${receiver.url}/hook` }).waitFor();
  await page.locator('.rows a', { hasText: 'ping' }).waitFor();
  expect(receiver.received[0]?.headers['x-hub-signature-256']).toMatch(/^sha256=/);
  expect(await faultsOf(page)).toEqual([]);

  receiver.behave({ status: 500, body: 'the disk is full' });
  await page.getByRole('button', { name: 'Ping' }).click();
  const failed = page.locator('.rows a', { hasText: 'Invalid HTTP response' });
  await failed.click(); // it appeared by itself
  await page.getByText('the disk is full').waitFor();
  const fate = page.getByRole('region', { name: 'What happened' });
  await fate.getByText('began.').first().waitFor(); // a step of its timeline
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await until('it is copied', async () =>
    (await page.evaluate(() => navigator.clipboard.readText())).includes(`curl '${receiver.url}/hook'`),
  );

  receiver.behave({});
  await page.getByRole('button', { name: 'Redeliver' }).click();
  await fate.getByText('delivered', { exact: true }).waitFor(); // by itself
  const attempts = fate.getByRole('navigation', { name: 'Attempts' });
  await attempts.getByRole('link', { name: 'Redelivery, attempt 1' }).click();
  await attempts.getByText('Redelivery, attempt 1 (this one)').waitFor();
  expect(await page.getByText('The redelivery is on its way.').count()).toBe(0); // it was that of the other
  await attempts.getByRole('link', { name: 'Attempt 1', exact: true }).click();
  await page.getByText('the disk is full').waitFor();
  await page.getByRole('button', { name: 'Redeliver' }).click();
  await attempts.getByRole('link', { name: 'Redelivery, attempt 1, no. 2' }).waitFor();
  await page.getByRole('link', { name: /^hook \d+$/ }).click();
  await until('both', async () => (await page.locator('.rows a', { hasText: 'redelivery' }).count()) === 2);
  const ticks = page.locator('.rows').getByRole('checkbox');
  const named = await ticks.evaluateAll((boxes) => boxes.map((box) => box.getAttribute('aria-label')));
  expect(new Set(named).size).toBe(4); // the first ping, the one that failed, and both redeliveries of it
  await page.getByRole('link', { name: 'Failed' }).click();
  await page.locator('.rows li').first().waitFor();
  await until('only what failed', async () => (await page.locator('.rows li').count()) === 1);

  await page.getByRole('button', { name: 'Turn off' }).click();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Turn it off' }).click();
  await page.getByText('not active').waitFor();
  for (const tab of ['Replay', 'Send a test']) {
    await page.getByRole('link', { name: tab, exact: true }).click();
    await page.getByText('The hook is not active. Turn it on first.').waitFor();
  }
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByText('not active').waitFor(); // still
  await page.getByRole('heading', { name: 'Change the secret' }).waitFor(); // a secret still exists
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the hook' }).click();
  await page.waitForURL('**/accounts/acme');
  await page.getByText('There are no hooks yet').waitFor();
  expect(complaints).toEqual([]);
});

/** A Standard Webhooks secret: an overlap shows in their header. */
const secret = `whsec_${Buffer.from('a secret of ours, of 32 bytes here').toString('base64')}`;

/** Sends a hook to the API, as another person would who works on it meanwhile. */
async function send(method: 'POST' | 'PATCH', path: string, hook: object): Promise<{ id: number }> {
  const answer = await fetch(`${system.apiUrl}/${path}`, {
    method,
    headers: { Authorization: `Bearer ${await system.token()}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(hook),
  });
  return (await answer.json()) as { id: number };
}

/** Creates a hook of acme/gadgets through the API. */
async function makeHook(url: string, options: object = {}): Promise<string> {
  const hooks = 'repos/acme/gadgets/hooks';
  const { id } = await send('POST', hooks, { config: { url, content_type: 'json', secret }, ...options });
  return `${hooks}/${id}`;
}

test('failed deliveries are delivered again, an event is found by its guid, and deliveries are filtered', async () => {
  await using receiver = await openReceiver({ behave: { status: 500 } });
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/replayed`, { retry: 'off' });
  await signIn(page, console + hook);
  const guid = await producer.publish({ subject: 'acme/gadgets' });
  const push = page.locator('.rows a', { hasText: guid });
  await push.waitFor();

  const rows = page.locator('.rows li');
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('Event', { exact: true }).fill('ping');
  await until('the ping alone', async () => (await rows.count()) === 1 && (await push.count()) === 0);
  await page.getByLabel('Event', { exact: true }).fill('');
  await push.waitFor();
  await page.getByLabel('Throttled').selectOption('Throttled');
  await page.getByText('No deliveries match').waitFor();
  await page.getByLabel('Throttled').selectOption('All');
  // Set while the other is still being typed.
  await page.getByLabel('Action').fill('pinned');
  await page.getByLabel('Throttled').selectOption('Not throttled');
  await until('both', () => ['action=pinned', 'throttled=false'].every((one) => page.url().includes(one)));
  await page.getByLabel('Action').fill('');
  await page.getByLabel('Throttled').selectOption('All');
  await push.waitFor();
  await page.getByLabel('Until (your time zone)').fill('2020-01-01T00:00');
  await page.getByText('2020-01-01 00:00 UTC').waitFor();
  await page.getByText('No deliveries match').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('link', { name: 'Clear' }).click();
  await push.waitFor();
  await page.getByLabel('GUID').fill('7d2b1c3e');
  await page.getByText('A GUID looks like').waitFor();
  await page.getByLabel('GUID').fill(guid);
  await until('the push alone', async () => (await rows.count()) === 1 && (await push.count()) === 1);
  await page.getByRole('link', { name: 'What happened to this event?' }).click();
  const fate = page.getByRole('region', { name: 'What happened' });
  await fate.getByText('failed', { exact: true }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByLabel('GUID').fill('7d2b1c3e');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await page.getByText('A GUID looks like').waitFor();
  await page.getByLabel('GUID').fill('7d2b1c3e-0f4a-4c52-9f2e-5b8f6a1d9c70');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await fate.getByText('no delivery', { exact: true }).waitFor();
  await fate.getByText('No event with this guid is stored').waitFor();

  receiver.behave({});
  await page.getByRole('link', { name: 'Replay' }).click();
  await page.getByText('No replays yet').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByLabel('Events', { exact: true }).fill('push');
  await page.getByLabel('Until (your time zone)').fill('12026-01-01T00:00');
  await page.getByRole('button', { name: 'Start replay' }).click();
  expect(await page.getByLabel('Events', { exact: true }).inputValue()).toBe('push');
  await page.getByLabel('Until (your time zone)').fill('');
  await page.getByRole('button', { name: 'Start replay' }).click();
  await page.getByText('of 1 done').waitFor();
  await page.getByText('1 of 1 done').waitFor();
  await page.getByText('done', { exact: true }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  expect(receiver.received.filter(({ headers }) => headers['x-github-delivery'] === guid)).toHaveLength(2);
});

test('who stops a replay of all events is told that a new one sends them all again', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/replayed`);
  const at = new Date().toISOString();
  const times = { since: at, until: at, created_at: at, ended_at: null, expected_end_at: null };
  const counts = { total: 2, done: 1, failed: 0, events: null, stopped_because: null };
  await page.route(/\/deliveries\/replays/, (route) =>
    route.fulfill({ json: [{ id: 1, state: 'running', status: 'all', ...times, ...counts }] }),
  );
  await signIn(page, `${console}${hook}?tab=replays`);
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('A new replay sends all of them again.').waitFor();
});

test('an admin who knows the secret sends a made-up event and sees it arrive', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/made-up`);
  await signIn(page, console + hook);
  await page.getByRole('link', { name: 'Send a test' }).click();
  await page.getByText('refs/heads/main').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Send test event' }).click(); // without the secret
  expect(await page.getByText('The event is on its way.').isVisible()).toBe(false);
  await page.getByLabel('The hook’s secret').fill('another');
  await page.getByRole('button', { name: 'Send test event' }).click();
  await page.getByText('This is not the secret of the hook').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByLabel('The hook’s secret').fill(secret);
  await page.getByRole('button', { name: 'Send test event' }).click();
  await page.getByRole('link', { name: 'See what happens to it' }).click();
  const fate = page.getByRole('region', { name: 'What happened' });
  await fate.getByText('delivered', { exact: true }).waitFor();
  await fate.getByRole('link', { name: 'Attempt 1' }).click();
  await page.getByText('A test event is not redelivered').waitFor();
  expect(await page.getByRole('button', { name: 'Redeliver' }).count()).toBe(0);
  receiver.behave({ status: 500 });
  await page.getByRole('link', { name: 'send another' }).click();
  await page.getByLabel('The hook’s secret').fill(secret);
  await page.getByRole('button', { name: 'Send test event' }).click();
  await page.getByRole('link', { name: 'See what happens to it' }).click();
  await fate.getByText('There is no automatic further attempt: tests are not retried.').waitFor();
  const sent = receiver.received.find(({ headers }) => headers['x-github-event'] === 'push')!;
  expect(JSON.parse(sent.body.toString())).toMatchObject({ repository: { full_name: 'acme/gadgets' } });
});

test('a made-up event that got no answer says so, and why it is not sent again', async () => {
  await using receiver = await openReceiver({ behave: { delayMs: 50, fault: 'reset' } });
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/cut`);
  const { id } = await send('POST', `${hook}/triggers`, { event: 'push', payload: {}, secret });
  await signIn(page, `${console}${hook}/deliveries/${id}`);
  const fate = page.getByRole('region', { name: 'What happened' });
  await fate.getByText('tests are not retried').waitFor();
  await fate.getByText('cut the connection').waitFor();
  await page.getByRole('rowheader', { name: 'no response' }).waitFor();
  await page.getByText('A test event is not redelivered').waitFor();
  await page.goto(console + hook);
  await page.getByRole('checkbox', { name: 'Select all shown' }).press('Space');
  await page.getByRole('button', { name: 'Redeliver' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Redeliver' }).click();
  await page.getByText('Validation Failed (Somebody made this event up').waitFor();
});

test('a secret is changed with an overlap, and nothing else of the hook changes', async () => {
  await using receiver = await openReceiver();
  const page = await openPage({ viewport: { width: 375, height: 700 } });
  const hook = await makeHook(`${receiver.url}/rotated`, { request_headers: { 'X-Team': 'gate' } });
  await signIn(page, `${console}${hook}?tab=settings`);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('button', { name: 'Generate a secret' }).click();
  const next = await page.getByLabel('New secret').inputValue();
  const leave = () => page.getByRole('link', { name: 'Deliveries', exact: true }).click();
  await leave();
  const question = page.getByRole('alertdialog', { name: 'Leave without saving?' });
  await question.getByRole('button', { name: 'Stay here' }).click();
  expect(await page.getByLabel('New secret').inputValue()).toBe(next);
  await page.getByRole('button', { name: 'Change secret' }).click();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Change the secret' }).click();
  await page.getByText('The previous secret, if it begins with').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  const before = receiver.received.length;
  await page.getByRole('button', { name: 'Ping' }).click();
  await until('the ping', () => receiver.received.length > before);
  const { headers, body } = receiver.received.at(-1)!;
  const signed = createHmac('sha256', next).update(body).digest('hex');
  expect(headers).toMatchObject({ 'x-hub-signature-256': `sha256=${signed}`, 'x-team': 'gate' });
  expect(headers['webhook-signature']!.split(' ')).toHaveLength(2);
  await page.getByRole('button', { name: 'End it now' }).click();
  await page.getByRole('button', { name: 'End it', exact: true }).click();
  await until('its end', async () => !(await page.getByText('The previous secret, if it begins with').isVisible()));
  await leave(); // without a question
  await page.locator('.rows a', { hasText: 'ping' }).first().waitFor();
});

test('a hook that is off since its organization restricts an app is not offered to be turned on, which would do nothing', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/restricted`);
  await page.route(`${system.apiUrl}/${hook}`, async (route) => {
    const response = await route.fetch();
    const json = { ...(await response.json()), active: false, disabled_reason: 'oauth_app_restricted' };
    await route.fulfill({ response, json });
  });
  await signIn(page, `${console}${hook}?tab=replays`);
  await page.getByText('The organization restricts the OAuth app that created this hook').waitFor();
  await page.getByRole('button', { name: 'Start replay' }).waitFor();
  expect(await page.getByText(/turn (it )?on/i).count()).toBe(0);
});

test('saving settings of a hook keeps what somebody else changed meanwhile', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/meanwhile`, { config: { url: `${receiver.url}/meanwhile` } });
  await signIn(page, `${console}${hook}?tab=settings`);
  await page.getByRole('button', { name: 'Save' }).waitFor();
  const config = { url: `${receiver.url}/meanwhile`, secret, content_type: 'json' };
  await send('PATCH', hook, { config, events: ['push', 'issues'], request_headers: { 'X-Team': 'gate' } });
  await page.getByText('Retry failed deliveries').click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  expect(await send('PATCH', hook, {})).toMatchObject({
    config: { secret: '********', content_type: 'json' },
    events: ['push', 'issues'],
    request_headers: { 'X-Team': '********' },
    retry: 'off',
  });
  await send('PATCH', `${hook}/config`, { insecure_ssl: '1' });
  await page.getByText('application/x-www-form-urlencoded').click();
  await page.getByRole('button', { name: 'Save' }).click();
  const isForm = async () => JSON.stringify(await send('PATCH', hook, {})).includes('"content_type":"form"');
  await until('the other type', isForm);
  expect(await send('PATCH', hook, {})).toMatchObject({
    config: { secret: '********', insecure_ssl: '1' },
    retry: 'off',
  });
  await page.getByLabel('Value', { exact: true }).fill('post');
  await page.getByRole('button', { name: 'Save' }).click();
  const sent = () => receiver.received.at(-1)?.headers['x-team'];
  await until('the new header', async () => {
    await page.getByRole('button', { name: 'Ping' }).click();
    return sent() === 'post';
  });

  // What is typed while it is being saved stays.
  const answer = Promise.withResolvers<void>();
  await page.route(`${system.apiUrl}/${hook}`, async (route) => {
    if (route.request().method() === 'PATCH') await answer.promise;
    await route.continue();
  });
  await page.getByText('Retry failed deliveries').click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Saving …' }).waitFor();
  await page.getByLabel('Payload URL').fill(`${receiver.url}/typed`);
  answer.resolve();
  await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
  expect(await page.getByLabel('Payload URL').inputValue()).toBe(`${receiver.url}/typed`);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: `${receiver.url}/typed` }).waitFor();
});

test('the settings of a hook are not shown at another one', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const [first, second] = [await makeHook(`${receiver.url}/first`), await makeHook(`${receiver.url}/second`)];
  const url = page.getByLabel('Payload URL');
  await signIn(page, `${console}${first}?tab=settings`);
  await until('its settings', async () => (await url.inputValue()) === `${receiver.url}/first`);
  await page.evaluate((address) => history.pushState({}, '', address), `${console}${second}?tab=settings`);
  await until('those of the other', async () => (await url.inputValue()) === `${receiver.url}/second`);
  await page.goBack();
  await page.getByRole('heading', { name: `${receiver.url}/first` }).waitFor();
  expect(await url.inputValue()).toBe(`${receiver.url}/first`);
});

test('what is wrong with a hook is said at its field, which has the focus', async () => {
  const full = { events: ['watch'], active: false };
  for (let made = 0; made < 20; made += 1) await makeHook(`http://127.0.0.2:9/full/${made}`, full);
  const page = await openPage();
  await signIn(page, `${console}repos/acme/gadgets/hooks/new`);
  const [url, create] = [page.getByLabel('Payload URL'), page.getByRole('button', { name: 'Create' })];
  const hasFocus = (what: Locator) =>
    until('it has the focus', () => what.evaluate((element) => element === document.activeElement));
  await url.fill('http://127.0.0.1/hook');
  await create.click();
  await page.getByText('URL host localhost is not supported').waitFor();
  await hasFocus(url);
  const guide = page.getByRole('link', { name: 'how to receive on a machine of your own' });
  expect(await guide.getAttribute('href')).toMatch(/\/docs#tag\/local-receivers$/);

  await url.fill('http://127.0.0.2:9/eventless');
  const all = page.getByRole('checkbox', { name: 'All events' });
  await page.getByRole('checkbox', { name: /^push / }).press('Space');
  await page.getByText('None selected').waitFor();
  await create.click();
  await page.getByText('Choose at least one event.').waitFor();
  await hasFocus(all);
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('checkbox', { name: /^watch / }).press('Space');
  for (const index of [0, 1]) {
    await page.getByRole('button', { name: 'Add a header' }).click();
    await page.getByLabel('Name', { exact: true }).nth(index).fill('X-Team');
  }
  await create.click();
  await page.getByText('Two headers have the same name.').waitFor();
  for (const _ of [0, 1]) await page.getByRole('button', { name: 'Remove', exact: true }).last().click();
  await create.click();
  await page.getByText('Cannot have more than 20 webhooks').waitFor();
  await hasFocus(all);
  await page.getByRole('checkbox', { name: /^watch / }).press('Space');
  await page.getByRole('checkbox', { name: /^issues / }).press('Space');
  await page.getByText('Disable (not recommended)').click();
  await create.click();
  await page.getByRole('heading', { name: 'http://127.0.0.2:9/eventless' }).waitFor();
  const hook = new URL(page.url()).pathname.replace('/console/', '');
  expect(await send('PATCH', hook, { events: [] })).toMatchObject({ config: { insecure_ssl: '1' } });
  await page.reload();
  await page.getByText('Subscribed to no events').waitFor();
});

test('a receiver that redirects has failed, wherever its answer is shown, and is told to be the hook’s URL', async () => {
  await using receiver = await openReceiver({ behave: { status: 302, headers: { location: '/elsewhere' } } });
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/redirects`, { retry: 'off' });
  await signIn(page, console + hook);
  const row = page.locator('.rows a', { hasText: '302: Invalid HTTP response' });
  await row.waitFor();
  await page.reload();
  await page.locator('.tag.bad', { hasText: 'last: 302' }).waitFor();
  await page.getByRole('link', { name: 'Failed' }).click();
  await page.getByText('they failed, but are among “Delivered”').waitFor();
  await page.getByText('No deliveries match').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('link', { name: 'View all deliveries' }).click();
  await row.waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('link', { name: 'View failed deliveries' }).click();
  await row.click();
  await page.locator('.title .tag.bad', { hasText: '302' }).waitFor();
  await page.getByText('Redirects are not followed: change the URL of the hook').waitFor();
  await page.goto(`${console}accounts/acme?status=failure`);
  await page.getByRole('link', { name: `${receiver.url}/redirects` }).waitFor();
});

test('a form with changes is left only when somebody says so, and without a question once they are saved', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  const hook = await makeHook(`${receiver.url}/kept`, { request_headers: { 'X-Team': 'gate' } });
  await signIn(page, `${console}${hook}?tab=settings`);
  const url = page.getByLabel('Payload URL');
  const question = page.getByRole('alertdialog', { name: 'Leave without saving?' });
  const follow = (name: string) => page.getByRole('link', { name, exact: true }).click();
  await page.getByLabel('Find an event').fill('issue'); // changes nothing
  await follow('Verify');
  await page.getByRole('button', { name: 'Compare' }).waitFor();
  await follow('Settings');
  await page.getByRole('button', { name: 'Remove' }).click();
  await follow('Deliveries');
  await question.getByRole('button', { name: 'Stay here' }).click();
  await url.fill(`${receiver.url}/changed`);
  for (const leave of [() => follow('Deliveries'), () => follow('Accounts'), () => page.goBack()]) {
    await leave();
    await question.waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await question.getByRole('button', { name: 'Stay here' }).click();
    await question.waitFor({ state: 'detached' });
    expect(await url.inputValue()).toBe(`${receiver.url}/changed`);
  }
  const asked = page.waitForEvent('dialog');
  const closing = page.close({ runBeforeUnload: true });
  const dialog = await asked;
  expect(dialog.type()).toBe('beforeunload');
  await dialog.dismiss();
  await closing;
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await follow('Deliveries');
  await page.locator('.rows a', { hasText: 'ping' }).waitFor();
  await follow('Settings');
  await url.fill(`${receiver.url}/dropped`);
  await follow('Deliveries');
  await question.getByRole('button', { name: 'Leave without saving' }).click();
  await page.locator('.rows a', { hasText: 'ping' }).waitFor();
  expect(await page.getByRole('heading', { name: `${receiver.url}/changed` }).count()).toBe(1);
});

test('a signature that does not match is explained', async () => {
  const page = await openPage();
  await signIn(page, console);
  await using receiver = await openReceiver({ behave: { status: 401 } });
  await page.goto(console + (await makeHook(`${receiver.url}/hook`, { retry: 'off' }))); // without a word of the gate's
  await page.locator('.rows a', { hasText: 'ping' }).click();
  await page.getByText("Check that the receiver has the hook's secret").waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('link', { name: 'Find out why a signature does not match' }).click();
  await page.getByRole('button', { name: 'Python' }).click();
  await page.getByText('hmac.compare_digest').waitFor();
  await page.getByLabel('Secret').fill("It's a Secret to Everybody");
  const known = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  await page.getByLabel('X-Hub-Signature-256').fill(known);
  await page.getByLabel('Body, exactly as received').fill('Hello, World!');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('It matches.').waitFor();
  await page.getByLabel('Body, exactly as received').fill('Hello, World!\n');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('ends with a line break that was not sent').waitFor();
  expect(await faultsOf(page)).toEqual([]);
});

test('on a phone in dark mode nothing is cut off, and the keyboard reaches everything', async () => {
  const page = await openPage({ viewport: { width: 375, height: 700 }, colorScheme: 'dark' });
  await signIn(page, `${console}repos/acme/widgets/hooks/new`);
  await page.getByLabel('Payload URL').waitFor(); // the requested address
  expect(await faultsOf(page)).toEqual([]);
  await page.goto(`${console}accounts/acme?tab=repositories`);
  const widgets = page.getByRole('listitem').filter({ hasText: 'widgets' });
  await widgets.waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
  const menu = page.getByRole('button', { name: 'Menu' });
  const accounts = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Accounts' });
  await menu.press('Enter');
  await accounts.focus();
  await page.keyboard.press('Escape');
  await accounts.waitFor({ state: 'hidden' });
  expect(await menu.evaluate((element) => element === document.activeElement)).toBe(true);
  await widgets.getByRole('link', { name: 'New hook' }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Payload URL').waitFor();

  await makeHook('http://127.0.0.2:9/refuses', { retry: 'off' });
  await until('it has failed', async () => {
    await page.goto(`${console}accounts/acme?q=refuses`);
    await page.getByText(/last: |no deliveries yet/).waitFor();
    return page.getByText('last: Failed to connect to network').isVisible();
  });
  expect(await faultsOf(page)).toEqual([]);
});

test('by keyboard alone a hook is created, turned off and on, redelivered to and deleted, and the focus is never lost', async () => {
  await using receiver = await openReceiver();
  const page = await openPage();
  await signIn(page, `${console}accounts/acme`);
  const { keyboard } = page;
  /** Checks that each key leaves the focus somewhere visible. */
  const press = async (...keys: string[]) => {
    for (const key of keys) await keyboard.press(key);
    await until('something has the focus', () => page.evaluate(() => document.activeElement !== document.body));
  };
  /** Presses Tab until the element is reached. */
  const reach = async (what: Locator, key = 'Tab') => {
    await what.waitFor();
    await until('it is reached', async () => {
      await keyboard.press(key);
      return what.evaluate((element) => element === document.activeElement);
    });
  };
  const hasFocus = (what: Locator) =>
    until('it has the focus', () => what.evaluate((element) => element === document.activeElement));
  const button = (name: string) => page.getByRole('button', { name, exact: true });

  await reach(page.getByRole('link', { name: 'Skip to content' }));
  await press('Enter');
  await reach(page.getByRole('link', { name: 'New hook' }));
  await press('Enter');
  await hasFocus(page.locator('#content')); // another page begins with its content
  await reach(page.getByLabel('Payload URL'));
  await keyboard.type(`${receiver.url}/by-keyboard`);
  await reach(page.getByLabel('Find an event'));
  await keyboard.type('issue was opened');
  await reach(page.getByRole('checkbox', { name: /^issues / }));
  await press('Space');
  await reach(button('Create'));
  await press('Enter');
  await page.getByRole('heading', { name: `${receiver.url}/by-keyboard` }).waitFor();
  await hasFocus(page.locator('#content'));

  await reach(button('Ping'));
  await press('Enter');
  await hasFocus(button('Ping')); // inactive while the ping is sent
  await reach(button('Turn off'));
  await press('Enter');
  await hasFocus(button('Cancel')); // in the dialog
  await press('Escape');
  await hasFocus(button('Turn off'));
  await press('Enter');
  await hasFocus(button('Cancel'));
  await press('Tab', 'Enter');
  await hasFocus(button('Turn on')); // in place of the other
  await press('Enter');
  await hasFocus(button('Turn off'));

  await reach(page.getByRole('checkbox').nth(1));
  await press('Space');
  await reach(button('Redeliver'), 'Shift+Tab');
  await press('Enter');
  await hasFocus(button('Cancel'));
  await press('Tab', 'Enter');
  await page.getByText('1 of 1 are being redelivered').waitFor();
  await press('Shift'); // the selection is gone, and the button is inactive

  await page.getByRole('link', { name: 'Settings', exact: true }).focus();
  await press('Enter');
  await reach(button('Delete'));
  await press('Enter');
  await hasFocus(button('Cancel'));
  await press('Tab', 'Enter');
  await page.waitForURL('**/accounts/acme');
  await hasFocus(page.locator('#content'));
});

test('a missing page, an ended session and an API that is away are explained in words', async () => {
  const page = await openPage();
  await signIn(page, `${console}repos/acme/widgets/hooks/999`);
  await page.getByText('Not found').waitFor();
  await page.goto(`${console}nowhere`);
  await page.getByText('Page not found').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForSelector('[name=identifier]'); // nobody is signed in, so it asks again
});

test('pages of the console can load nothing from other origins and cannot be framed', async () => {
  const response = await fetch(console);
  const policy = response.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'; script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain(new URL(system.issuer).origin);
  expect((await fetch(new URL('assets/none.js', console))).status).toBe(404);
  expect((await fetch(console.slice(0, -1), { redirect: 'manual' })).status).toBe(308);
});

test('the first load is small and compressed, and a page opened again asks for its data after four requests', async () => {
  const page = await openPage();
  const hook = await makeHook('http://127.0.0.2:9/first');
  const assets: Response[] = [];
  page.on('response', (response) => void (response.url().includes('/console/assets/') && assets.push(response)));
  await signIn(page, console + hook);
  const row = page.locator('.rows a', { hasText: 'ping' });
  await row.waitFor();
  let bytes = 0;
  for (const asset of assets.filter((one) => one.request().timing().responseStart > 0)) {
    const { 'cache-control': cache, 'content-encoding': encoding } = await asset.allHeaders();
    expect([cache, encoding, asset.url()]).toEqual(['public, max-age=31536000, immutable', 'gzip', asset.url()]);
    bytes += (await asset.request().sizes()).responseBodySize;
  }
  expect(bytes).toBeGreaterThan(100_000);
  expect(bytes).toBeLessThan(200_000);

  const again = await page.context().newPage();
  const asked: string[] = [];
  again.on('request', (request) => {
    const { origin, pathname } = new URL(request.url());
    if (!pathname.includes('/assets/'))
      asked.push(`${request.method()} ${origin === new URL(console).origin ? '' : 'gate'}${pathname}`);
  });
  again.on('requestfinished', (request) => asked.push(`answered ${new URL(request.url()).pathname}`));
  await again.goto(console + hook);
  await again.locator('.rows a', { hasText: 'ping' }).waitFor();
  const sent = asked.filter((one) => !one.startsWith('answered'));
  expect(sent.slice(0, 4)).toEqual([
    `GET /console/${hook}`,
    'GET gate/authorize',
    'GET /console/',
    'POST gate/oauth/token',
  ]);
  // The hook and its deliveries are requested at the same time.
  const answered = asked.indexOf(`answered /${hook}`);
  expect(asked.slice(0, answered)).toContain(`GET /${hook}/deliveries`);
});
