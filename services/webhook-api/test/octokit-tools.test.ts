/** Other clients of GitHub and receivers of its webhooks, unmodified, against the whole system. */
import { spawn } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import { Octokit } from '@octokit/rest';
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks';
import { verify } from '@octokit/webhooks-methods';
import { createProbot, createNodeMiddleware as createProbotMiddleware } from 'probot';
import { Webhook } from 'standardwebhooks';
import { checkedFetch } from './support/conformance.ts';
import { openGitHub, place, silent } from './support/octokit.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const github = stack.use(await openGitHub());
const { baseUrl, as, adminToken, create, received, publishPush, delivered, listen } = github;
beforeEach(() => github.begin());

describe('19: the plugins', () => {
  /** In front of the real API: first what it answers when a store is away, or when there are too many requests at once. */
  const failingFirst = (status: number, message: string): { fetch: typeof fetch; requests: () => number } => {
    let requests = 0;
    return {
      requests: () => requests,
      async fetch(input, init) {
        requests += 1;
        if (requests > 1) return checkedFetch(input, init);
        return Response.json(
          { message, documentation_url: '', status: String(status) },
          { status, headers: { 'retry-after': '1' } },
        );
      },
    };
  };

  test('retry requests that failed on our side', async () => {
    const failing = failingFirst(503, 'Service Unavailable');
    const Patient = Octokit.plugin(retry);
    const patient = new Patient({
      auth: await adminToken(),
      baseUrl,
      log: silent,
      request: { fetch: failing.fetch },
      retry: { retryAfterBaseValue: 1 },
    });
    expect((await patient.rest.repos.listWebhooks(place)).status).toBe(200);
    expect(failing.requests()).toBe(2);
  });

  test('wait when they hit the secondary rate limit', async () => {
    const failing = failingFirst(
      429,
      'You have exceeded a secondary rate limit. Please wait a few seconds before you try again.',
    );
    const onSecondaryRateLimit = jest.fn(() => true);
    const Patient = Octokit.plugin(throttling);
    const patient = new Patient({
      auth: await adminToken(),
      baseUrl,
      log: silent,
      request: { fetch: failing.fetch },
      throttle: { onSecondaryRateLimit, onRateLimit: () => false, retryAfterBaseValue: 1 },
    });
    expect((await patient.rest.repos.listWebhooks(place)).status).toBe(200);
    expect(onSecondaryRateLimit).toHaveBeenCalledTimes(1);
    expect(failing.requests()).toBe(2);
  });
});

describe('25, 26 and 27: @octokit/webhooks', () => {
  test('accepts our deliveries, and refuses forged ones', async () => {
    const seen: { id: string; name: string; payload: unknown }[] = [];
    const webhooks = new Webhooks({ secret: 's', log: silent });
    webhooks.onAny(({ id, name, payload }) => void seen.push({ id, name, payload }));
    const url = `${await listen(createNodeMiddleware(webhooks, { path: '/', log: silent }))}/`;
    const hookAt = async (config: object) =>
      (await as('t-admin').repos.createWebhook({ ...place, config: { url, content_type: 'json', ...config } })).data.id;

    const good = await hookAt({ secret: 's' });
    expect(await delivered(good, 'ping')).toMatchObject({ status: 'OK', status_code: 200 });
    const guid = await publishPush({ ref: 'refs/heads/ünï' });
    expect(await delivered(good, 'push')).toMatchObject({ status: 'OK' });
    const push = seen.find(({ name }) => name === 'push');
    expect(push).toEqual({ id: guid, name: 'push', payload: { ref: 'refs/heads/ünï' } });

    const codes: Record<string, number> = {};
    for (const [what, config] of Object.entries({
      'wrong secret': { secret: 'wrong' },
      form: { secret: 's', content_type: 'form' },
      'no secret': {},
    })) {
      const hook_id = await hookAt(config);
      const delivery = await delivered(hook_id, 'ping');
      expect(delivery.status).toBe('Invalid HTTP response');
      codes[what] = delivery.status_code;
    }
    expect(codes).toEqual({ 'wrong secret': 400, form: 415, 'no secret': 400 });
  });
});

describe('28: probot', () => {
  test('hands a push to its application', async () => {
    const pushes: unknown[] = [];
    const probot = createProbot({
      env: { WEBHOOK_SECRET: 's' },
      overrides: { githubToken: 'unused', logLevel: 'fatal', baseUrl },
    });
    const middleware = await createProbotMiddleware(
      (app) => void app.on('push', ({ payload }) => void pushes.push(payload)),
      {
        probot,
        webhooksPath: '/api/github/webhooks',
      },
    );
    const url = `${await listen((request, response) => void middleware(request, response))}/api/github/webhooks`;
    const { data: hook } = await as('t-admin').repos.createWebhook({
      ...place,
      config: { url, content_type: 'json', secret: 's' },
    });
    await publishPush({ ref: 'refs/heads/main', commits: [] });
    expect(await delivered(hook.id, 'push')).toMatchObject({ status: 'OK' });
    expect(pushes).toMatchObject([{ ref: 'refs/heads/main' }]);
  });
});

describe('29: smee-client', () => {
  test('relays a delivery whose signature survives', async () => {
    const seen: string[] = [];
    const webhooks = new Webhooks({ secret: 's', log: silent });
    webhooks.onAny(({ name }) => void seen.push(name));
    const target = await listen(createNodeMiddleware(webhooks, { path: '/', log: silent }));

    // What smee.io does: hands each delivery, parsed, to whoever listens to its channel.
    const listeners = new Set<ServerResponse>();
    const channel = await listen(async (request, response) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: ready\ndata: {}\n\n');
        return void listeners.add(response);
      }
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const message = {
        ...request.headers,
        body: JSON.parse(Buffer.concat(chunks).toString()),
        query: {},
        timestamp: Date.now(),
      };
      for (const listener of listeners)
        listener.write(`id: ${message.timestamp}\ndata: ${JSON.stringify(message)}\n\n`);
      response.end();
    });
    const program = fileURLToPath(new URL('../node_modules/smee-client/bin/smee.js', import.meta.url));
    const smee = spawn(process.execPath, [program, '--url', `${channel}/channel`, '--target', `${target}/`], {
      stdio: 'ignore',
    });
    stack.defer(() => void smee.kill());
    await until('the relay', () => listeners.size > 0);
    await as('t-admin').repos.createWebhook({
      ...place,
      config: { url: `${channel}/channel`, content_type: 'json', secret: 's' },
    });
    await until('the relayed ping', () => seen.includes('ping'));
  });
});

describe('30: standardwebhooks', () => {
  test('verifies what a whsec_ secret signs', async () => {
    const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
    await create('standard', {}, { secret });
    const ping = await received('standard', 'ping');
    const body = ping.body.toString('utf8');
    expect(new Webhook(secret).verify(body, ping.headers)).toMatchObject({ zen: expect.any(String) });
    expect(() => new Webhook(secret).verify(`${body} `, ping.headers)).toThrow('No matching signature found');
    expect(await verify(secret, body, ping.headers['x-hub-signature-256']!)).toBe(true);
  });
});
